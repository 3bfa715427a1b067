#include "cli/help.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/flags.h"

namespace toprun::cli {
namespace {

TEST(Help, IsNeverTooWideAndEndsItsLastLine) {
  for (const Dialect dialect : {Dialect::run, Dialect::torchrun, Dialect::submit, Dialect::shell}) {
    for (const std::string& text : {short_help(dialect), full_help(dialect)}) {
      ASSERT_TRUE(text.ends_with('\n'));
      for (const std::string_view line : split(text, '\n')) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(help_columns)) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

TEST(Help, NamesEveryFlagAndVariableThatIsKnownAndNoOther) {
  for (const Dialect dialect : {Dialect::run, Dialect::torchrun, Dialect::submit, Dialect::shell}) {
    const std::string text = full_help(dialect);
    for (const Flag& flag : all_flags()) {
      if (flag.name.empty()) continue;
      const bool expected = knows(dialect, flag);
      if (!expected && find_flag(flag.name, dialect) != nullptr)
        continue;  // another's of this name
      const std::string name = fmt::format("  {}", flag.name);
      const std::string after_letter = fmt::format("-{}, {}", flag.letter, flag.name);
      EXPECT_EQ(text.find(name + " ") != text.npos || text.find(name + "\n") != text.npos ||
                    text.find(name + "[") != text.npos || text.find(after_letter) != text.npos,
                expected)
          << flag.name;
      if (!flag.variable.empty()) {
        EXPECT_EQ(text.find(fmt::format("[{}", variable_of(flag, dialect))) != text.npos, expected)
            << flag.variable;
      }
    }
  }
}

TEST(Help, ShortHelpHasExamplesAndFitsAScreen) {
  const std::string text = short_help(Dialect::run);
  EXPECT_NE(text.find("srun -N 8 toprun train.py"), text.npos);
  EXPECT_LE(std::ranges::count(text, '\n'), 40);
}

}  // namespace
}  // namespace toprun::cli
