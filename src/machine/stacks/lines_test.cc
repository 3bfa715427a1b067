#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "machine/stacks/layout.h"

namespace toprun::stacks {
namespace {

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

struct Line {
  int offset_bytes;
  int line;
};

// The tables that CPython's own compilers made of one function, which begins in line 301:
//   def f(a,
//         b):
//       x = [
//           a,
//
//           b]
//       try:
//           g(x,
//             1)
//       finally:
//           a()
//       return b
// and the lines that dis.findlinestarts() and co_lines() of the same version give.

TEST(Lines, OfTablesUpTo39) {
  const auto table = bytes_of("0003020202fd04040201040102ff08030801");  // 3.8
  for (const auto [offset, line] :
       {Line{-1, 301}, Line{0, 304}, Line{2, 306}, Line{4, 303}, Line{6, 303}, Line{8, 307},
        Line{10, 308}, Line{14, 309}, Line{16, 308}, Line{22, 308}, Line{24, 311}, Line{32, 312},
        Line{400, 312}}) {
    EXPECT_EQ(line_by_lnotab(table, 301, offset), line) << offset;
  }
}

TEST(Lines, OfTablesOf310) {
  const auto table = bytes_of("0203020204fd02040401020106ff0603040108ff");
  for (const auto [offset, line] :
       {Line{-2, 301}, Line{0, 304}, Line{2, 306}, Line{4, 303}, Line{6, 303}, Line{8, 307},
        Line{10, 308}, Line{14, 309}, Line{16, 308}, Line{22, 311}, Line{28, 312}, Line{38, 311},
        Line{40, 0}}) {
    EXPECT_EQ(line_by_ranges(table, 301, offset), line) << offset;
  }
  EXPECT_EQ(line_by_ranges(bytes_of("0201048002ff"), 1, 4), 0);  // instructions without a line
  EXPECT_EQ(line_by_ranges(bytes_of("0201048002ff"), 1, 6), 1);
}

TEST(Lines, OfTablesFrom311) {
  const auto table = bytes_of(
      "8000f00600090ae00809f00703090b8041f00804050cdc08098821d80a0bf40301090df10600090a8c03d80b0c"
      "8048f8f10300090a8d03fa");  // 3.12
  for (const auto [offset, line] :
       {Line{-2, 301}, Line{0, 301}, Line{2, 304}, Line{4, 306}, Line{6, 303}, Line{10, 307},
        Line{12, 308}, Line{24, 309}, Line{26, 308}, Line{36, 311}, Line{50, 312}, Line{54, 0},
        Line{56, 311}, Line{70, 311}, Line{72, 0}, Line{78, 0}}) {
    EXPECT_EQ(line_by_locations(table, 301, offset), line) << offset;
  }
  // Lines that are far apart: 2, 403, 70404, 70446, 70405.
  const auto far = bytes_of(
      "8000dc04058443f4620c0005068443f4624b220005068443f0540100030484518353f15301290c09f000290509");
  for (const auto [offset, line] : {Line{0, 1}, Line{2, 2}, Line{22, 403}, Line{61, 70404},
                                    Line{62, 70446}, Line{82, 70405}, Line{88, 0}}) {
    EXPECT_EQ(line_by_locations(far, 1, offset), line) << offset;
  }
}

TEST(Lines, OfTablesThatEndTooEarly) {
  EXPECT_EQ(line_by_lnotab({}, 7, 4), 7);
  EXPECT_EQ(line_by_lnotab(bytes_of("02"), 7, 4), 7);
  EXPECT_EQ(line_by_ranges({}, 7, 4), 0);
  EXPECT_EQ(line_by_ranges(bytes_of("ff"), 7, 4), 0);
  EXPECT_EQ(line_by_locations({}, 7, 4), 0);
  EXPECT_EQ(line_by_locations(bytes_of("f0"), 7, 0), 7);  // the number is missing
}

TEST(Lines, ThatAreNoneAreUnknown) {
  EXPECT_EQ(line_by_lnotab(bytes_of("00800080"), 1, 0), 0);  // above the first line
  EXPECT_EQ(line_by_ranges(bytes_of("0281"), 1, 0), 0);
  EXPECT_EQ(line_by_locations(bytes_of("f07f7f7f7f7f7f7f7f"), 1, 0), 0);
}

}  // namespace
}  // namespace toprun::stacks
