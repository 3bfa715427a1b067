#include "topology/path.h"

namespace toprun::topology {

Path::Path(std::vector<Domain> domains)
    : shared_(std::make_shared<Shared>(Shared{std::move(domains), {}})) {}

const std::vector<Domain>& Path::domains() const {
  static const std::vector<Domain> none;
  return shared_ ? shared_->domains : none;
}

std::vector<Domain>& Path::own() {
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
  } else if (shared_.use_count() > 1) {
    shared_ = std::make_shared<Shared>(Shared{shared_->domains, {}});
  }
  shared_->text.clear();
  return shared_->domains;
}

const std::string& Path::text() const {
  static const std::string none = "/";
  if (!shared_) return none;
  std::string& text = shared_->text;
  if (text.empty()) {
    text = "/";
    for (const Domain& domain : shared_->domains) {
      if (domain) text += *domain;
      text += '/';
    }
  }
  return text;
}

}  // namespace toprun::topology
