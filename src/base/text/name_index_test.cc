#include "base/text/name_index.h"

#include <gtest/gtest.h>

#include <string>

namespace toprun {
namespace {

TEST(NameIndex, KnowsEachNameAtItsFirstPosition) {
  std::vector<std::string> names;
  for (int i = 0; i < 10'000; ++i) names.push_back("n" + std::to_string(i % 7'000));
  const auto name_at = [&](std::size_t i) { return std::string_view(names[i]); };
  NameIndex index;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [position, is_new] = index.add(names[i], i, name_at);
    EXPECT_EQ(position, i % 7'000);
    EXPECT_EQ(is_new, i < 7'000);
  }
  EXPECT_EQ(index.find("n6999", name_at), 6'999u);
  EXPECT_EQ(index.find("n7000", name_at), std::nullopt);
  EXPECT_EQ(index.find("", name_at), std::nullopt);
}

TEST(NameIndex, IsTheSameWhereItsSizeWasExpected) {
  const std::vector<std::string> names = {"a", "", "b"};
  const auto name_at = [&](std::size_t i) { return std::string_view(names[i]); };
  NameIndex index;
  index.expect(1'000);
  for (std::size_t i = 0; i < names.size(); ++i) index.add(names[i], i, name_at);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(index.find(names[i], name_at), i);
}

}  // namespace
}  // namespace toprun
