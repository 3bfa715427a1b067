#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/text/text.h"

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

TEST(Counted, BytesInTheirUnit) {
  const std::pair<double, std::string> rows[] = {{0, "0 B"},
                                                 {1023, "1023 B"},
                                                 {1024, "1 KiB"},
                                                 {1536, "1.50 KiB"},
                                                 {10 << 20, "10 MiB"},
                                                 {12'900'000, "12.3 MiB"},
                                                 {0x1p50, "1 PiB"},
                                                 {0x1p63, "8192 PiB"},
                                                 {1'048'572, "1.00 MiB"},
                                                 {1'048'000, "1023 KiB"}};
  for (const auto& [bytes, text] : rows) EXPECT_EQ(bytes_text(bytes), text);
}

TEST(Counted, Ranges) {
  const std::pair<std::vector<int>, std::string> rows[] = {{{}, ""},
                                                           {{0}, "0"},
                                                           {{0, 1}, "0-1"},
                                                           {{0, 1, 2, 4, 6, 7}, "0-2,4,6-7"},
                                                           {{8, 9, 10, 99, 100}, "8-10,99-100"}};
  for (const auto& [numbers, text] : rows) {
    EXPECT_EQ(ranges_text(numbers), text);
    EXPECT_EQ(numbers_of_ranges(text, 100), numbers);
  }
  EXPECT_EQ(numbers_of_ranges("0-9,x,-3,5-4,7", 4), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(numbers_of_ranges("x,1-,5-4,7", 4), (std::vector{7}));
  EXPECT_EQ(ranges_text(std::vector{0, 2, 4, 6, 8}, 2), "0,2,3 more");
}

}  // namespace
}  // namespace toprun
