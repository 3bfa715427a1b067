#include <gtest/gtest.h>

#include "node/prepare/probes/presence_watch.h"

namespace toprun::probes {
namespace {

using std::chrono::seconds;

struct Observation {
  int at_s;
  std::vector<std::string> nodes;
};

struct Case {
  const char* what;
  bool may_be_late;
  std::vector<Observation> looks;
  bool ended;  // n1, which may begin until second 10
};

TEST(Attendance, WhoHasEnded) {
  const Case cases[] = {
      {"it is there", false, {{2, {"n0", "n1"}}, {4, {"n0", "n1"}}}, false},
      {"nobody has looked", false, {}, false},
      {"it was there", false, {{2, {"n0", "n1"}}, {4, {"n0"}}, {6, {"n0"}}}, true},
      {"it was there, where nodes begin late", true, {{2, {"n1"}}, {4, {}}, {6, {}}}, true},
      {"it is there again", false, {{2, {"n1"}}, {4, {}}, {6, {}}, {8, {"n1"}}}, false},
      {"one look may err", false, {{2, {"n0", "n1"}}, {4, {"n0"}}}, false},
      {"it may be about to begin", false, {{2, {"n0"}}, {4, {"n0"}}}, false},
      {"it should have begun", false, {{8, {"n0"}}, {10, {"n0"}}}, true},
      {"it waits for its prolog", true, {{8, {"n0"}}, {100, {"n0"}}}, false},
      {"one look, though late", false, {{12, {"n0"}}}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Attendance attendance(SteadyTime(seconds(10)));
    for (const Observation& look : c.looks) {
      attendance.look({look.nodes, c.may_be_late}, SteadyTime(seconds(look.at_s)));
    }
    EXPECT_EQ(attendance.has_ended("n1"), c.ended);
  }
}

}  // namespace
}  // namespace toprun::probes
