#include "topology/path.h"

namespace toprun::topology {

Path::Path(std::vector<Domain> domains)
    : shared_(std::make_shared<std::vector<Domain>>(std::move(domains))) {}

const std::vector<Domain>& Path::domains() const {
  static const std::vector<Domain> none;
  return shared_ ? *shared_ : none;
}

std::vector<Domain>& Path::own() {
  if (!shared_) {
    shared_ = std::make_shared<std::vector<Domain>>();
  } else if (shared_.use_count() > 1) {
    shared_ = std::make_shared<std::vector<Domain>>(*shared_);
  }
  return *shared_;
}

}  // namespace toprun::topology
