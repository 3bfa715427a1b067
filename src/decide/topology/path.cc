#include "decide/topology/path.h"

namespace toprun::topology {

Path::Path(std::vector<Domain> domains)
    : shared_(std::make_shared<Shared>(Shared{std::move(domains), 0, {}, false})) {}

const std::vector<Domain>& Path::domains() const {
  static const std::vector<Domain> none;
  return shared_ ? shared_->domains : none;
}

std::vector<Domain>& Path::own() {
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
  } else if (shared_.use_count() > 1) {
    shared_ = std::make_shared<Shared>(Shared{shared_->domains, shared_->seat, {}, false});
  }
  shared_->text.clear();
  return shared_->domains;
}

const Path::Shared& Path::digest() const {
  if (shared_->text.empty()) {
    shared_->text = "/";
    shared_->known = false;
    for (const Domain& domain : shared_->domains) {
      shared_->text += domain.is_none() ? written_none : std::string_view(*domain);
      shared_->text += '/';
      shared_->known = shared_->known || domain.has_value();
    }
  }
  return *shared_;
}

}  // namespace toprun::topology
