#include "base/text/clock.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

using std::chrono::milliseconds;

TEST(Clock, ReadsTimesAsItWritesThem) {
  const WallTime time{milliseconds(1'795'318'177'250)};
  EXPECT_EQ(rfc3339(time), "2026-11-22T03:29:37.250Z");
  EXPECT_EQ(time_in(rfc3339(time)), time);
  EXPECT_EQ(time_in("1970-01-01T00:01:00Z"), WallTime(milliseconds(60'000)));
  EXPECT_EQ(time_in("1970-01-01T00:01:00.123456Z"), WallTime(milliseconds(60'123)));
}

TEST(Clock, ReadsNoOtherTimes) {
  for (const char* text :
       {"", "x", "1970-01-01", "1970-01-01T00:01:00", "1970-01-01T00:01:00+01:00",
        "1970-01-01T00:01:00.Zx", "1970-01-01T00:01:00.5"}) {
    EXPECT_FALSE(time_in(text)) << text;
  }
}

}  // namespace
}  // namespace toprun
