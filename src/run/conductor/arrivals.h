#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "run/model/phases.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// One member's ranks, to find out which of them a process is that came to the store.
struct MemberRanks {
  std::string host;
  std::vector<std::string> addresses;  // at which its peers, and so perhaps the store, see it
  int first_rank = 0;
  int ranks = 0;
  std::vector<int> pids;  // by local rank; empty: unknown
  SteadyTime started{};   // when its ranks ran
  bool has_store = false;
};

// What the arrivals say about an attempt.
struct Meeting {
  std::optional<SteadyTime> first_joined;
  std::optional<SteadyTime> all_joined;           // unset: not all of the world have
  std::optional<SteadyTime> all_met;              // the same
  std::optional<model::Spread> import;            // from each rank's start until it joined
  std::optional<model::Spread> first_collective;  // … and from then until it met
  std::optional<model::Awaited>
      awaited;  // unset: all have met, or all have joined and none has met
};
// A process is the rank that its keys name; or that which has its process id on a host with its
// address, or on any host if no member has that address. What is known by neither is one of its
// host's ranks. `told`: when the root read the message.
Meeting meeting_of(const model::Arrivals& arrivals, std::span<const MemberRanks> members,
                   SteadyTime told);

}  // namespace toprun::run
