#include <gtest/gtest.h>

#include "observe/picture/ring_layout.h"

namespace toprun::picture {
namespace {

constexpr Spacing spacing{10, 20};

std::vector<std::size_t> rows_of(const Packing& packing) {
  std::vector<std::size_t> rows;
  for (const Row& row : packing.rows) rows.push_back(row.count);
  return rows;
}

TEST(Pack, RowsOfOneLength) {
  EXPECT_EQ(rows_of(pack(std::vector<Size>(12, {90, 80}), spacing, 1.4, 1'000)),
            (std::vector<std::size_t>{4, 4, 4}));
  EXPECT_EQ(rows_of(pack(std::vector<Size>(7, {90, 80}), spacing, 50, 1'000)),
            (std::vector<std::size_t>{7}));
}

TEST(Pack, IsNoWiderThanAllowed) {
  const Packing packing = pack(std::vector<Size>(100, {90, 10}), spacing, 50, 500);
  EXPECT_LE(packing.size.width, 500);
  EXPECT_EQ(pack({{900, 10}, {90, 10}}, spacing, 1, 500).size.width, 900);  // one box is wider
}

TEST(Pack, NothingTakesNoRoom) {
  EXPECT_EQ(pack({}, spacing, 1, 500).size.height, 0);
  EXPECT_EQ(pack({}, spacing, 1, 500).size.width, 0);
}

TEST(Pack, BoxesOfOneRowShareTheirUpperEdge) {
  const Packing packing = pack({{50, 10}, {60, 90}, {70, 20}}, spacing, 50, 500);
  ASSERT_EQ(packing.rows.size(), 1u);
  EXPECT_EQ(packing.rows[0].y, 20);
  EXPECT_EQ(packing.x, (std::vector<double>{0, 60, 130}));
  EXPECT_EQ(packing.size.width, 200);
  EXPECT_EQ(packing.size.height, 110);
}

}  // namespace
}  // namespace toprun::picture
