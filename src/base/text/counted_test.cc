#include "base/text/counted.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

TEST(Counted, OneIsNoPlural) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(2, "rank"), "2 ranks");
  EXPECT_EQ(counted(1, "leaf switch"), "1 leaf switch");
  EXPECT_EQ(counted(2, "leaf switch"), "2 leaf switches");
  EXPECT_EQ(counted(3, "process"), "3 processes");
}

}  // namespace
}  // namespace toprun
