#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "run/model/phases.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// One member's ranks. With these data, a process that has reached the store is matched with a rank.
struct MemberRanks {
  std::string host;
  std::vector<std::string> addresses;  // addresses under which peers, and perhaps the store, see
                                       // the member
  int first_rank = 0;
  int ranks = 0;
  std::vector<int> pids;  // by local rank; empty: unknown
  SteadyTime started{};   // when its ranks started
  bool has_store = false;
};

// How far an attempt's ranks have got, according to the arrivals at the store.
struct Meeting {
  std::optional<SteadyTime> first_joined;
  std::optional<SteadyTime> all_joined;           // unset: not all ranks of the world have joined
  std::optional<SteadyTime> all_met;              // unset: not all ranks have reached their first
                                                  // collective
  std::optional<model::Spread> import;            // from each rank's start until it joined
  std::optional<model::Spread> first_collective;  // the time from joining until the rank's first
                                                  // collective
  std::optional<model::Awaited> awaited;  // the ranks that the others wait for; unset: all have
                                          // met, or all have joined and none has met
};
// Matches each process with a rank. If the process's store keys name a rank, this is the rank.
// Otherwise the rank has the same process id, and its host has the same address. If no member has
// this address, the rank may be on any host. If no rank fits, the process counts as one of the
// ranks on its host. `reported`: when the root read the message.
Meeting meeting_of(const model::Arrivals& arrivals, std::span<const MemberRanks> members,
                   SteadyTime reported);

}  // namespace toprun::run
