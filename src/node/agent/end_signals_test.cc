#include <gtest/gtest.h>

#include <vector>

#include "node/agent/received_signals.h"

namespace toprun::agent {
namespace {

using enum EndSignals::Way;

struct Arrival {
  EndSignals::Way way;
  int at_ms;
  bool counts;
};

struct EndSignalsCase {
  const char* name;
  std::vector<Arrival> arrivals;
};

TEST(EndSignals, CountOncePerWish) {
  const std::vector<EndSignalsCase> cases = {
      {"kill AGENT", {{itself, 0, true}}},
      {"pkill: the keeper and the agent", {{itself, 0, true}, {keeper, 1, false}}},
      {"timeout: the keeper twice", {{keeper, 0, true}, {keeper, 1, false}}},
      {"a keeper that was held up", {{itself, 0, true}, {keeper, 4'000, false}}},
      {"two presses of Ctrl-C", {{keeper, 0, true}, {keeper, 1'500, true}}},
      {"pkill twice",
       {{itself, 0, true}, {keeper, 1, false}, {itself, 2'000, true}, {keeper, 2'001, true}}},
      {"a launcher that is told and then lost", {{launcher, 0, true}, {launcher, 3, false}}},
      {"by three ways at once",
       {{launcher, 0, true}, {keeper, 0, false}, {itself, 0, false}, {launcher, 999, false}}},
  };
  for (const EndSignalsCase& test : cases) {
    SCOPED_TRACE(test.name);
    EndSignals signals;
    for (const Arrival& arrival : test.arrivals) {
      SCOPED_TRACE(arrival.at_ms);
      EXPECT_EQ(signals.count(arrival.way, SteadyTime{} + std::chrono::milliseconds(arrival.at_ms)),
                arrival.counts);
    }
  }
}

}  // namespace
}  // namespace toprun::agent
