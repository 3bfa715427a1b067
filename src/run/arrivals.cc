#include "run/arrivals.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace toprun::run {
namespace {

using rendezvous::Arrivals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Whose process it is. Without a rank: the member is any of its host's.
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

  Owner owner_of_rank(int rank) const {
    const auto after =
        std::ranges::upper_bound(by_rank_, rank, {}, &std::pair<int, const MemberRanks*>::first);
    if (after == by_rank_.begin()) return {};
    const MemberRanks* const place = std::prev(after)->second;
    const bool is_one = rank < place->first_rank + place->ranks;
    return is_one ? Owner{place, rank} : Owner{};
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

}  // namespace

Meeting meeting_of(const Arrivals& arrivals, std::span<const MemberRanks> members,
                   SteadyTime told) {
  Directory directory(members);
  Meeting meeting;
  std::vector<view::Share> imports;
  std::vector<view::Share> collectives;
  SteadyTime last_joined = SteadyTime::min();
  SteadyTime last_met = SteadyTime::min();
  std::size_t joined_count = 0;
  for (const Arrivals::Host& host : arrivals.hosts) {
    const std::vector<Owner> owners = directory.owners(host);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const auto& [place, rank] = owners[i];
      const std::string_view node = place == nullptr ? std::string_view() : place->host;
      const SteadyTime joined = told - host.ranks[i].joined_age;
      ++joined_count;
      last_joined = std::max(last_joined, joined);
      meeting.first_joined = std::min(meeting.first_joined.value_or(joined), joined);
      if (place != nullptr) imports.push_back({between(place->started, joined), rank, node});
      if (!host.ranks[i].met_age) continue;
      const SteadyTime met = told - *host.ranks[i].met_age;
      last_met = std::max(last_met, met);
      collectives.push_back({between(joined, met), rank, node});
    }
  }
  std::size_t world = 0;
  for (const MemberRanks& place : members) world += static_cast<std::size_t>(place.ranks);
  if (world > 0 && joined_count >= world) meeting.all_joined = last_joined;
  if (world > 0 && collectives.size() >= world) meeting.all_met = last_met;
  meeting.import = view::spread_of(imports);
  meeting.first_collective = view::spread_of(collectives);
  return meeting;
}

}  // namespace toprun::run
