#include "rendezvous/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace toprun::rendezvous {
namespace {

// A node rank or, where none is fixed, an engine's index; and the local rank of a rank in place. Or
// an engine's number of the process.
using Place = std::pair<int, std::optional<int>>;

std::optional<Place> place_of(const Join& join, const Size& size) {
  const bool fixed = join.node_rank && !size.ranks_are_wishes;
  const auto node = fixed ? join.node_rank : join.node_index;
  if (!node && join.task) return Place(*join.task, std::nullopt);
  if (!node) return std::nullopt;
  return Place(*node, join.local_rank);
}

}  // namespace

std::optional<Refused> Gathering::admit(const Join& join) {
  if (auto refused = conflict(join)) return refused;
  const bool seat_is_free = open_ && !full() && holder_of_place_of(join) == nullptr;
  (seat_is_free ? members_ : spares_).push_back(join);
  return std::nullopt;
}

std::optional<Refused> Gathering::conflict(const Join& join) const {
  if (join.nnodes != 0 && !members_.empty() && members_.front().nnodes != 0 &&
      join.nnodes != members_.front().nnodes) {
    return Refused{Refusal::job,
                   fmt::format("this agent was started for {} nodes, the root agent on {} for {}",
                               join.nnodes, members_.front().host, members_.front().nnodes)};
  }
  if (!members_.empty() && join.local_rank.has_value() != members_.front().local_rank.has_value()) {
    const Join& alone = join.local_rank ? members_.front() : join;
    return Refused{Refusal::job,
                   fmt::format("{} has one process and takes it for its node's agent, other nodes "
                               "have several: add --ranks-in-place",
                               alone.host)};
  }
  if (size_.repairable) return std::nullopt;
  if (const Join* const holder = holder_of_place_of(join)) {
    return Refused{Refusal::rank_taken,
                   fmt::format("node rank {} is taken by {} (pid {})", place_of(join, size_)->first,
                               holder->host, holder->pid)};
  }
  if (full()) {
    return Refused{Refusal::full,
                   fmt::format("the job has all of its {} nodes already", size_.most)};
  }
  return std::nullopt;
}

const Join* Gathering::holder_of_place_of(const Join& join) const {
  const auto place = place_of(join, size_);
  if (!place) return nullptr;
  const auto found = std::ranges::find(
      members_, place, [this](const Join& member) { return place_of(member, size_); });
  return found == members_.end() ? nullptr : &*found;
}

void Gathering::forget(const std::string& agent) {
  std::erase_if(members_, [&](const Join& join) { return join.agent == agent; });
  std::erase_if(spares_, [&](const Join& join) { return join.agent == agent; });
}

void Gathering::open() {
  open_ = true;
  for (auto spare = spares_.begin(); spare != spares_.end() && !full();) {
    if (holder_of_place_of(*spare) != nullptr) {
      ++spare;
    } else {
      members_.push_back(std::move(*spare));
      spare = spares_.erase(spare);
    }
  }
}

int Gathering::newcomers() const {
  std::set<Place> taken;
  int count = 0;
  for (const Join& spare : spares_) {
    if (present() + count == size_.most) break;
    if (holder_of_place_of(spare) != nullptr) continue;
    const auto place = place_of(spare, size_);
    if (!place || taken.insert(*place).second) ++count;
  }
  return count;
}

bool Gathering::is_member(const std::string& agent) const {
  return std::ranges::find(members_, agent, &Join::agent) != members_.end();
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
