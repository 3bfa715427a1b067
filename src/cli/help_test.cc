#include "cli/help.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/verbs.h"
#include "options/flags.h"

namespace toprun::cli {
namespace {

constexpr std::array dialects = {options::Dialect::run, options::Dialect::torchrun,
                                 options::Dialect::submit, options::Dialect::shell,
                                 options::Dialect::setup};

// As fmt counts columns, which UTF-8's continuing bytes take none of.
std::ptrdiff_t columns(std::string_view line) {
  return std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
}

TEST(Help, IsNeverTooWideAndEndsItsLastLine) {
  EXPECT_EQ(options::help_columns, 80);
  for (const options::Dialect dialect : dialects) {
    for (const std::string& text : {short_help(dialect), full_help(dialect)}) {
      ASSERT_TRUE(text.ends_with('\n'));
      for (const std::string_view line : split(text, '\n')) {
        EXPECT_LE(columns(line), options::help_columns) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

TEST(Help, NamesEveryFlagAndVariableThatIsKnownAndNoOther) {
  for (const options::Dialect dialect : dialects) {
    const std::string text = full_help(dialect);
    for (const options::Flag& flag : options::all_flags()) {
      if (flag.name.empty()) continue;
      const bool expected = options::knows(dialect, flag);
      if (!expected && options::find_flag(flag.name, dialect) != nullptr)
        continue;  // another's of this name
      const std::string name = fmt::format("\n  {}", flag.name);
      const std::string after_letter = fmt::format("-{}, {}", flag.letter, flag.name);
      EXPECT_EQ(text.find(name + " ") != text.npos || text.find(name + "\n") != text.npos ||
                    text.find(name + "[") != text.npos || text.find(after_letter) != text.npos,
                expected)
          << flag.name;
      if (!flag.variable.empty()) {
        EXPECT_EQ(text.find(fmt::format("[{}", options::variable_of(flag, dialect))) != text.npos,
                  expected)
            << flag.variable;
      }
    }
  }
}

TEST(Help, ShortHelpHasExamplesAndVerbsAndFitsAScreen) {
  const std::string text = short_help(options::Dialect::run);
  EXPECT_NE(text.find("srun -N 8 toprun train.py"), text.npos);
  for (const Verb& verb : all_verbs()) {
    EXPECT_NE(text.find(fmt::format("\n  {}", verb.name)), text.npos) << verb.name;
  }
  EXPECT_LE(std::ranges::count(text, '\n'), 48);
}

TEST(Help, ALetterIsShownBesideOneOptionOnly) {
  const std::string text = full_help(options::Dialect::submit);
  EXPECT_NE(text.find("  -t, --time TIME"), text.npos);
  EXPECT_NE(text.find("\n  --tee STREAMS"), text.npos);
  EXPECT_NE(full_help(options::Dialect::run).find("  -t, --tee STREAMS"), text.npos);
}

TEST(Help, TellsEveryExitCode) {
  const std::string text = full_help(options::Dialect::run);
  const std::string codes = text.substr(text.find("\nExit codes:\n"));
  for (const char* code : {"0", "N", "128+N", "1", "2", "75", "93", "124", "130, 143"}) {
    EXPECT_NE(codes.find(fmt::format("\n  {} ", code)), codes.npos) << code;
  }
}

}  // namespace
}  // namespace toprun::cli
