#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "run/model/phases.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// One member's ranks. meeting_of() matches processes that have reached the store with these ranks.
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

// The progress of an attempt's ranks. meeting_of() computes it from the arrivals at the store.
struct Meeting {
  std::optional<SteadyTime> first_joined;
  std::optional<SteadyTime> all_joined;           // unset: not all ranks of the world have joined
  std::optional<SteadyTime> all_met;              // unset: not all ranks have reached their first
                                                  // collective
  std::optional<model::Spread> import;            // from each rank's start until it joined
  std::optional<model::Spread> first_collective;  // the time from joining until the rank's first
                                                  // collective

  // Where ranks are missing (at the store or at their first collective), how many have arrived
  // there, and the first missing rank. Unset: no rank has joined yet; all ranks have reached their
  // first collective; or all have joined and none has reached it.
  std::optional<model::Awaited> awaited;
};
// Matches each process in `arrivals` with a rank, and returns how far the ranks have got. If the
// process's store keys name a rank, this rank is chosen. Otherwise, the rank with the same process
// id on the host with the same address is chosen. If no member has this address, the process id is
// compared with those of the ranks on all hosts. If no rank fits, the process counts as an unknown
// rank on its host. `reported`: the time at which the root read `arrivals`.
Meeting meeting_of(const model::Arrivals& arrivals, std::span<const MemberRanks> members,
                   SteadyTime reported);

}  // namespace toprun::run
