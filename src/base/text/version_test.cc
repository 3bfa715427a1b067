#include "base/text/version.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

TEST(Version, NeighboursOfOneMajorWorkTogether) {
  const struct {
    std::string_view one, other;
    bool together;
  } rows[] = {
      {"1.4.0", "1.4.0", true},
      {"1.4.0", "1.4.7", true},
      {"1.4.0", "1.5.2", true},
      {"1.4.9", "1.3.0", true},
      {"1.4.0", "1.6.0", false},
      {"1.4.0", "2.4.0", false},
      {"0.1.0", "0.2.0", true},
      {"0.9.0", "1.0.0", false},
      {"1.4", "1.4.0", false},
      {"1.4.0-x", "1.4.0", false},
      {"1.-4.0", "1.4.0", false},
      {"-1.4.0", "-1.4.1", false},
      {"", "1.4.0", false},
      {"odd", "odd", true},
      {"1.4.0.", "1.4.0", false},
      {"1.99999999999.0", "1.4.0", false},
      {"1.2147483647.0", "1.0.0", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(work_together(row.one, row.other), row.together) << row.one << ' ' << row.other;
    EXPECT_EQ(work_together(row.other, row.one), row.together) << row.other << ' ' << row.one;
  }
}

TEST(Version, WorksWithItself) {
  EXPECT_TRUE(work_together(version, version));
  EXPECT_FALSE(work_together(version, "99.0.0"));
}

}  // namespace
}  // namespace toprun
