#include "base/process/impatience.h"

#include <gtest/gtest.h>

#include <vector>

namespace toprun::process {
namespace {

using std::chrono::milliseconds;
using Signal = Impatience::Signal;

struct Case {
  const char* name;
  std::vector<int> at_ms;
  std::vector<Signal> expected;
};

TEST(Impatience, IsAMatterOfTime) {
  const std::vector<Case> cases = {
      {"one", {0}, {Signal::first}},
      {"timeout(1): the child, then its group", {0, 1}, {Signal::first, Signal::delivery}},
      {"a burst",
       {0, 0, 499, 999},
       {Signal::first, Signal::delivery, Signal::delivery, Signal::delivery}},
      {"a user who waited", {0, 1'000}, {Signal::first, Signal::repeat}},
      {"who pressed too soon, and again",
       {0, 700, 1'400},
       {Signal::first, Signal::delivery, Signal::repeat}},
      {"each wish twice",
       {0, 2, 5'000, 5'002},
       {Signal::first, Signal::delivery, Signal::repeat, Signal::delivery}},
      {"a third wish", {0, 1'000, 2'000}, {Signal::first, Signal::repeat, Signal::repeat}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Impatience impatience;
    std::vector<Signal> seen;
    for (const int at : test.at_ms) {
      seen.push_back(impatience.arrived(SteadyTime{} + milliseconds(at)));
    }
    EXPECT_EQ(seen, test.expected);
  }
}

}  // namespace
}  // namespace toprun::process
