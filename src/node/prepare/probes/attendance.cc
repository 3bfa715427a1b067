#include "node/prepare/probes/attendance.h"

#include <utility>

namespace toprun::probes {

void Attendance::look(const engines::Presence& presence, SteadyTime now) {
  before_ = std::exchange(now_, {presence.nodes.begin(), presence.nodes.end()});
  seen_.insert(now_.begin(), now_.end());
  all_have_begun_ = !presence.may_be_late && now >= begun_by_;
  ++looks_;
}

bool Attendance::has_ended(const std::string& node) const {
  const bool absent = looks_ > 1 && !now_.contains(node) && !before_.contains(node);
  return absent && (all_have_begun_ || seen_.contains(node));
}

}  // namespace toprun::probes
