#include "decide/topology/path.h"

#include <gtest/gtest.h>

namespace toprun::topology {
namespace {

TEST(Path, ACopyIsAValueOfItsOwn) {
  const Path rack = {"c0", "r1"};
  Path copy = rack;
  EXPECT_EQ(copy.identity(), rack.identity());
  copy.push_back("n0");
  copy.set(0, std::nullopt);
  copy.push_front("z0");
  EXPECT_EQ(copy, (Path{"z0", std::nullopt, "r1", "n0"}));
  EXPECT_EQ(rack, (Path{"c0", "r1"}));
  copy = rack;
  copy.pop_back();
  EXPECT_EQ(copy, Path{"c0"});
  EXPECT_EQ(rack.size(), 2u);
}

TEST(Path, ItsTextIsThatOfItsDomains) {
  Path path = {"c0", std::nullopt, "r1"};
  EXPECT_EQ(path.text(), "/c0//r1/");
  const Path copy = path;
  path.set(1, "b2");
  EXPECT_EQ(path.text(), "/c0/b2/r1/");
  EXPECT_EQ(copy.text(), "/c0//r1/");
  path.pop_back();
  EXPECT_EQ(path.text(), "/c0/b2/");
  EXPECT_TRUE(path.known());
  EXPECT_EQ(Path().text(), "/");
  EXPECT_FALSE(Path().known());
  path = Path(2);
  EXPECT_FALSE(path.known());
  path.set(1, "r0");
  EXPECT_TRUE(path.known());
}

TEST(Path, EqualDomainsAreEqualPathsWhereverTheyAre) {
  EXPECT_EQ((Path{"a", "b"}), (Path{"a", "b"}));
  EXPECT_LT((Path{"a"}), (Path{"a", "b"}));
  EXPECT_EQ(Path(), Path(0));
  EXPECT_EQ(Path(2), (Path{std::nullopt, std::nullopt}));
  EXPECT_NE(Path(2), Path());
}

}  // namespace
}  // namespace toprun::topology
