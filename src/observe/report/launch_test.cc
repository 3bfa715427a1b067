#include <gtest/gtest.h>

#include "observe/report/report.h"

namespace toprun::report {
namespace {

using namespace std::chrono_literals;
using Step = model::Launch::Step;

model::Launch at(Step step, std::size_t there, std::size_t of,
                 std::vector<std::string> missing = {}) {
  model::Launch launch;
  launch.step = step;
  launch.elapsed = 12'900ms;
  launch.ready = there;
  launch.total = of;
  launch.missing = std::move(missing);
  return launch;
}

model::Launch meeting(std::size_t joined, std::size_t met,
                      std::optional<model::Awaited> awaited = {}) {
  model::Launch launch = at(Step::meet, 2, 2);
  launch.ranks = 16;
  launch.joined = joined;
  launch.met = met;
  launch.awaited = std::move(awaited);
  return launch;
}

TEST(Launch, Members) {
  const struct {
    model::Launch launch;
    const char* line;
  } cases[] = {
      {at(Step::join, 3, 4), "toprun: 12 s, 3 of 4 nodes have joined"},
      {at(Step::join, 3, 4, {"n3"}), "toprun: 12 s, 3 of 4 nodes have joined, not n3"},
      {at(Step::join, 1, 6, {"n1", "n2", "n3", "n4", "n5"}),
       "toprun: 12 s, 1 of 6 nodes have joined, not n1, n2, n3 and 2 others"},
      {at(Step::join, 0, 1), "toprun: 12 s, the node joins"},
      {at(Step::order, 0, 4), "toprun: 12 s, 4 nodes get their places"},
      {at(Step::prepare, 1, 2, {"n1"}), "toprun: 12 s, 1 of 2 nodes are ready, not n1"},
      {at(Step::start, 1, 2, {"n1"}), "toprun: 12 s, 1 of 2 nodes have started, not n1"},
      {at(Step::start, 0, 1, {"n0"}), "toprun: 12 s, the ranks start"},
  };
  for (const auto& one : cases) EXPECT_EQ(launch_line(one.launch, 0), one.line);
}

TEST(Launch, Ranks) {
  const model::Awaited reported{true, 14, 16, 3, "n1"};
  const struct {
    model::Launch launch;
    const char* line;
  } cases[] = {
      {meeting(0, 0), "toprun: 12 s, 16 ranks started, none has connected to the store yet"},
      {meeting(14, 0), "toprun: 12 s, 14 of 16 ranks have reached the store"},
      {meeting(14, 0, reported),
       "toprun: 12 s, 14 of 16 ranks have reached the store, not rank 3 on n1 and 1 other"},
      {meeting(0, 0, reported),
       "toprun: 12 s, 14 of 16 ranks have reached the store, not rank 3 on n1 and 1 other"},
      {meeting(15, 0, reported), "toprun: 12 s, 15 of 16 ranks have reached the store"},
      {meeting(16, 0, reported), "toprun: 12 s, 0 of 16 ranks have reached their first collective"},
      {meeting(16, 2, model::Awaited{false, 2, 16, 3, "n1"}),
       "toprun: 12 s, 2 of 16 ranks have reached their first collective, not rank 3 on n1 and 13 "
       "others"},
  };
  for (const auto& one : cases) EXPECT_EQ(launch_line(one.launch, 0), one.line);
}

TEST(Launch, LaterAttemptsLongOnesAndNarrowTerminals) {
  model::Launch launch = at(Step::join, 3, 4, {"n3"});
  launch.attempt = 2;
  launch.elapsed = 65s;
  EXPECT_EQ(launch_line(launch, 0),
            "toprun: 1 min 05 s, attempt 2, 3 of 4 nodes have joined, not n3");
  EXPECT_EQ(launch_line(launch, 30), "toprun: 1 min 0…joined, not n3");
}

TEST(Launch, NamesOfHostsControlNoTerminal) {
  EXPECT_EQ(launch_line(at(Step::join, 3, 4, {"\x1b[2Jn3"}), 0),
            "toprun: 12 s, 3 of 4 nodes have joined, not \\x1b[2Jn3");
}

}  // namespace
}  // namespace toprun::report
