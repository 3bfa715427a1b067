#include "run/conductor/arrivals.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace toprun::run {
namespace {

using model::Arrivals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// The owner of a process. Without a rank: the member is any of its host's.
struct Owner {
  const MemberRanks* member = nullptr;  // null: unknown
  std::optional<int> rank;
};

// The processes of some hosts' ranks. Without a member: two have the id, for example in two
// containers.
using Processes = std::unordered_map<int, Owner>;
using Places = std::vector<const MemberRanks*>;

class Directory {
 public:
  explicit Directory(std::span<const MemberRanks> members) {
    for (const MemberRanks& place : members) {
      if (place.has_store) store_host_ = place.host;
      if (place.ranks > 0) by_rank_.emplace_back(place.first_rank, &place);
    }
    std::ranges::sort(by_rank_);
    for (const MemberRanks& place : members) {
      if (place.host == store_host_) beside_store_.push_back(&place);
      for (const std::string& address : place.addresses) by_address_[address].push_back(&place);
    }
  }

  // Of the host's arrivals, in their order.
  std::vector<Owner> owners(const Arrivals::Host& host) {
    const auto found = by_address_.find(host.address);
    const bool is_known = host.address.empty() || found != by_address_.end();
    const Places& places = host.address.empty() ? beside_store_
                           : is_known           ? found->second
                                                : nowhere_;
    const Processes processes = is_known ? processes_of(places) : Processes();
    const Processes& known = is_known ? processes : everyone();
    std::vector<Owner> owners;
    for (const Arrivals::Rank& one : host.ranks) {
      if (one.rank) {
        owners.push_back(owner_of_rank(*one.rank));
        continue;
      }
      const auto process = known.find(one.pid);
      if (process != known.end() && process->second.member != nullptr) {
        owners.push_back(process->second);
      } else {
        owners.push_back({places.empty() ? nullptr : places.front(), std::nullopt});
      }
    }
    return owners;
  }

  Owner owner_of_rank(int rank) const {
    const auto after =
        std::ranges::upper_bound(by_rank_, rank, {}, &std::pair<int, const MemberRanks*>::first);
    if (after == by_rank_.begin()) return {};
    const MemberRanks* const place = std::prev(after)->second;
    const bool is_one = rank < place->first_rank + place->ranks;
    return is_one ? Owner{place, rank} : Owner{};
  }

 private:
  static Processes processes_of(const Places& places) {
    Processes processes;
    for (const MemberRanks* const place : places) {
      int rank = place->first_rank;
      for (const int pid : place->pids) {
        const auto [entry, is_new] = processes.emplace(pid, Owner{place, rank++});
        if (!is_new) entry->second = {};
      }
    }
    return processes;
  }

  // Made once: a hundred thousand ranks may come through gateways.
  const Processes& everyone() {
    if (!everyone_) {
      Places all;
      for (const auto& [rank, place] : by_rank_) all.push_back(place);
      everyone_ = processes_of(all);
    }
    return *everyone_;
  }

  std::optional<Processes> everyone_;
  const Places nowhere_;
  Places beside_store_;
  std::string_view store_host_;
  std::vector<std::pair<int, const MemberRanks*>> by_rank_;
  std::unordered_map<std::string_view, Places> by_address_;
};

// Members' clocks and messages differ by milliseconds: what took less took none.
milliseconds between(SteadyTime from, SteadyTime to) {
  return std::max(milliseconds(0), duration_cast<milliseconds>(to - from));
}

// One arrival, on the root's clock.
struct Seen {
  Owner owner;
  SteadyTime joined;
  std::optional<SteadyTime> met;

  std::string_view node() const {
    return owner.member == nullptr ? std::string_view() : owner.member->host;
  }
};

std::vector<Seen> seen_in(const Arrivals& arrivals, Directory& directory, SteadyTime reported) {
  std::vector<Seen> all;
  for (const Arrivals::Host& host : arrivals.hosts) {
    const std::vector<Owner> owners = directory.owners(host);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const Arrivals::Rank& rank = host.ranks[i];
      all.push_back({owners[i], reported - rank.joined_age, std::nullopt});
      if (rank.met_age) all.back().met = reported - *rank.met_age;
    }
  }
  return all;
}

// The first rank that has not come to the store, if all those that have are known.
Owner first_absent(const std::vector<Seen>& seen, const Directory& directory, std::size_t world) {
  std::vector<bool> is_here(world);
  std::size_t known = 0;
  for (const Seen& one : seen) {
    if (!one.owner.rank || std::cmp_greater_equal(*one.owner.rank, world)) continue;
    auto here = is_here[static_cast<std::size_t>(*one.owner.rank)];
    if (!here) ++known;
    here = true;
  }
  if (known < seen.size()) return {};
  const auto absent = std::ranges::find(is_here, false) - is_here.begin();
  return directory.owner_of_rank(static_cast<int>(absent));
}

// The first rank that has come to the store, but not to its first collective.
Owner first_late(const std::vector<Seen>& seen) {
  Owner late;
  for (const Seen& one : seen) {
    if (one.met || !one.owner.rank) continue;
    if (!late.rank || *one.owner.rank < *late.rank) late = one.owner;
  }
  return late;
}

std::optional<model::Awaited> awaited_of(const std::vector<Seen>& seen, std::size_t met,
                                         const Directory& directory, std::size_t world) {
  const bool at_store = seen.size() < world;
  if (seen.empty() || (!at_store && (met == 0 || met >= world))) return std::nullopt;
  const Owner first = at_store ? first_absent(seen, directory, world) : first_late(seen);
  model::Awaited awaited{at_store, at_store ? seen.size() : met, world, first.rank, {}};
  if (first.member != nullptr) awaited.node = first.member->host;
  return awaited;
}

}  // namespace

Meeting meeting_of(const Arrivals& arrivals, std::span<const MemberRanks> members,
                   SteadyTime reported) {
  Directory directory(members);
  const std::vector<Seen> seen = seen_in(arrivals, directory, reported);
  std::vector<model::Share> imports;
  std::vector<model::Share> collectives;
  SteadyTime first_joined = SteadyTime::max();
  SteadyTime last_joined = SteadyTime::min();
  SteadyTime last_met = SteadyTime::min();
  for (const Seen& one : seen) {
    first_joined = std::min(first_joined, one.joined);
    last_joined = std::max(last_joined, one.joined);
    if (const MemberRanks* const member = one.owner.member) {
      imports.push_back({between(member->started, one.joined), one.owner.rank, one.node()});
    }
    if (!one.met) continue;
    last_met = std::max(last_met, *one.met);
    collectives.push_back({between(one.joined, *one.met), one.owner.rank, one.node()});
  }
  std::size_t world = 0;
  for (const MemberRanks& member : members) world += static_cast<std::size_t>(member.ranks);
  Meeting meeting;
  if (!seen.empty()) meeting.first_joined = first_joined;
  if (world > 0 && seen.size() >= world) meeting.all_joined = last_joined;
  if (world > 0 && collectives.size() >= world) meeting.all_met = last_met;
  meeting.import = model::spread_of(imports);
  meeting.first_collective = model::spread_of(collectives);
  meeting.awaited = awaited_of(seen, collectives.size(), directory, world);
  return meeting;
}

}  // namespace toprun::run
