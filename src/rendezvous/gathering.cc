#include "rendezvous/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace toprun::rendezvous {
namespace {

constexpr int whole_node = -1;  // in place of a local rank

std::optional<std::pair<int, int>> place_of(const Join& join) {
  const auto node = join.node_rank ? join.node_rank : join.node_index;
  if (!node) return std::nullopt;
  return std::pair(*node, join.local_rank.value_or(whole_node));
}

}  // namespace

std::optional<Refused> Gathering::admit(const Join& join) {
  auto refused = conflict(join);
  if (refused) return refused;
  members_.push_back(join);
  if (const auto place = place_of(join)) {
    places_[*place] = fmt::format("{} (pid {})", join.host, join.pid);
  }
  return refused;
}

std::optional<Refused> Gathering::conflict(const Join& join) const {
  if (join.nnodes != 0 && !members_.empty() && members_.front().nnodes != 0 &&
      join.nnodes != members_.front().nnodes) {
    return Refused{Refusal::job,
                   fmt::format("this agent was started for {} nodes, the root agent on {} for {}",
                               join.nnodes, members_.front().host, members_.front().nnodes)};
  }
  if (const auto place = place_of(join); place && places_.contains(*place)) {
    return Refused{Refusal::rank_taken,
                   fmt::format("node rank {} is taken by {}", place->first, places_.at(*place))};
  }
  if (present() >= expected_) {
    return Refused{Refusal::full,
                   fmt::format("the job has all of its {} nodes already", expected_)};
  }
  return std::nullopt;
}

void Gathering::forget(const std::string& agent) {
  const auto found = std::ranges::find(members_, agent, &Join::agent);
  if (found == members_.end()) return;
  if (const auto place = place_of(*found)) places_.erase(*place);
  members_.erase(found);
}

int Gathering::present() const {
  return static_cast<int>(members_.size());
}

std::vector<std::string> Gathering::missing(const std::vector<std::string>& all) const {
  std::set<std::string_view> here;
  for (const Join& join : members_) here.insert(join.host);
  std::vector<std::string> names;
  for (const std::string& name : all) {
    if (!here.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace toprun::rendezvous
