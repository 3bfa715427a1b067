#include "cli/flags.h"

#include <gtest/gtest.h>

#include <set>

namespace toprun::cli {
namespace {

TEST(Flags, AreFoundByEitherSpelling) {
  EXPECT_EQ(find_flag("--rdzv_conf", false), &flag_of(FlagId::rdzv_conf));
  EXPECT_EQ(find_flag("--rdzv-conf", false), &flag_of(FlagId::rdzv_conf));
  EXPECT_EQ(find_flag("--order", false), &flag_of(FlagId::order));
  EXPECT_EQ(find_flag("--order", true), nullptr);
  EXPECT_EQ(find_flag('t', true), &flag_of(FlagId::tee));
  EXPECT_EQ(find_flag('v', true), nullptr);
  for (const char* none : {"", "-", "--", "--tee3", "tee"})
    EXPECT_EQ(find_flag(none, false), nullptr);
}

TEST(Flags, NamesLettersAndVariablesAreUnique) {
  std::set<std::string_view> names;
  std::set<std::string_view> variables;
  std::set<char> letters;
  for (const Flag& flag : all_flags()) {
    EXPECT_TRUE(flag.name.empty() || names.insert(flag.name).second) << flag.name;
    EXPECT_TRUE(flag.variable.empty() || variables.insert(flag.variable).second) << flag.variable;
    EXPECT_TRUE(flag.letter == 0 || letters.insert(flag.letter).second) << flag.letter;
  }
}

TEST(Flags, VariablesFollowTheName) {
  for (const Flag& flag : all_flags()) {
    if (flag.variable.empty()) continue;
    std::string expected = flag.origin == Origin::torchrun ? "PET_" : "TOPRUN_";
    for (const char c : flag.name.substr(2)) {
      expected += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    }
    EXPECT_EQ(flag.variable, expected);
  }
}

TEST(Flags, OneThatIsMissingIsNeverSuggested) {
  EXPECT_EQ(nearest_flag("--log-dirs", false), "--log-dir");
  EXPECT_EQ(nearest_flag("--logs-spec", false), std::nullopt);
  EXPECT_EQ(nearest_flag("--ordr", false), "--order");
  EXPECT_EQ(nearest_flag("--ordr", true), std::nullopt);
  EXPECT_EQ(nearest_flag("--topology_r", false), "--topology-required");
}

}  // namespace
}  // namespace toprun::cli
