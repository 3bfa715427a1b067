#include "cli/verbs/help/help.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/options/command_lines.h"
#include "cli/options/flags.h"
#include "cli/verbs/verbs.h"

namespace toprun::cli {
namespace {

std::vector<options::Command> commands() {
  std::vector<options::Command> all;
  for (const options::CommandLine& line : options::command_lines()) all.push_back(line.command);
  return all;
}

// As fmt counts columns, which UTF-8's continuing bytes take none of.
std::ptrdiff_t columns(std::string_view line) {
  return std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
}

TEST(Help, IsNeverTooWideAndEndsItsLastLine) {
  EXPECT_EQ(options::help_columns, 80);
  for (const options::Command command : commands()) {
    for (const std::string& text : {short_help(command), full_help(command)}) {
      ASSERT_TRUE(text.ends_with('\n'));
      for (const std::string_view line : split(text, '\n')) {
        EXPECT_LE(columns(line), options::help_columns) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

// Whether "[NAME" is there, and no longer name that begins like it.
bool has_variable(const std::string& text, std::string_view name) {
  const std::string before = fmt::format("[{}", name);
  for (std::size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
    if (text[at + before.size()] != '_') return true;
  }
  return false;
}

TEST(Help, NamesEveryFlagAndVariableThatIsKnownAndNoOther) {
  for (const options::Command command : commands()) {
    const std::string text = full_help(command);
    for (const options::Flag& flag : options::all_flags()) {
      if (flag.name.empty()) continue;
      const bool expected = options::knows(command, flag);
      if (!expected && options::find_flag(flag.name, command) != nullptr)
        continue;  // another's of this name
      const std::string name = fmt::format("\n  {}", flag.name);
      const std::string after_letter = fmt::format("-{}, {}", flag.letter, flag.name);
      EXPECT_EQ(text.find(name + " ") != text.npos || text.find(name + "\n") != text.npos ||
                    text.find(name + "[") != text.npos || text.find(after_letter) != text.npos,
                expected)
          << flag.name;
      if (!flag.variable.empty()) {
        EXPECT_EQ(has_variable(text, options::variable_of(flag, command)), expected)
            << flag.variable;
      }
    }
  }
}

TEST(Help, ShortHelpHasExamplesAndVerbsAndFitsAScreen) {
  const std::string text = short_help(options::Command::run);
  EXPECT_NE(text.find("srun -N 8 toprun train.py"), text.npos);
  for (const Verb* verb : verbs_of("")) {
    EXPECT_NE(text.find(fmt::format("\n  {}", last_word_of(*verb))), text.npos)
        << last_word_of(*verb);
  }
  EXPECT_LE(std::ranges::count(text, '\n'), 48);
}

TEST(Help, OfOneOption) {
  const std::string everywhere = option_help("nnodes");
  EXPECT_TRUE(everywhere.starts_with("toprun, toprun ")) << everywhere;
  EXPECT_NE(everywhere.find("  --nnodes N|MIN:MAX          Number of nodes; with"),
            everywhere.npos);
  EXPECT_NE(everywhere.find("toprun topo order"), everywhere.npos);
  const std::string there = option_help("--nnodes=4", options::Command::topo_order);
  EXPECT_TRUE(there.starts_with("toprun topo order:\n  --nnodes N  ")) << there;
  EXPECT_TRUE(option_help("-J", options::Command::bench_pairs).starts_with("toprun bench pairs:"));
  EXPECT_EQ(option_help("--xyzzy"), "");
  EXPECT_EQ(option_help("--"), "");
}

TEST(Help, APageDoesNotReferToItself) {
  EXPECT_TRUE(full_help(options::Command::net_env).contains("(listed below)"));
  EXPECT_FALSE(full_help(options::Command::run).contains("(listed below)"));
}

TEST(Help, ALetterIsShownBesideOneOptionOnly) {
  const std::string text = full_help(options::Command::submit);
  EXPECT_NE(text.find("  -t, --time TIME"), text.npos);
  EXPECT_NE(text.find("\n  --tee STREAMS"), text.npos);
  EXPECT_NE(full_help(options::Command::run).find("  -t, --tee STREAMS"), text.npos);
}

TEST(Help, TellsEveryExitCode) {
  const std::string text = full_help(options::Command::run);
  const std::string codes = text.substr(text.find("\nExit codes:\n"));
  for (const char* code : {"0", "N", "128+N", "1", "2", "75", "93", "124", "130, 143"}) {
    EXPECT_NE(codes.find(fmt::format("\n  {} ", code)), codes.npos) << code;
  }
}

// Two hundred lines of launch options stood before them.
TEST(Help, AVerbsOwnOptionsComeFirst) {
  using options::Command;
  for (const auto& [command, own] : {std::pair(Command::bench, "-b, --minbytes"),
                                     {Command::bench_pairs, "--rounds"},
                                     {Command::topo_order, "--stable"}}) {
    const std::string text = full_help(command);
    EXPECT_LT(text.find(fmt::format("  {} ", own)), text.find("\n  --hosts ")) << text;
  }
  const std::string brief = short_help(Command::bench);
  EXPECT_LT(brief.find("--save"), brief.find("--nproc-per-node N"));
  EXPECT_NE(full_help(Command::bench).find("\nThe measurement:\n  -b, --minbytes "),
            std::string::npos);
  EXPECT_EQ(full_help(Command::bench).find("Which Python"), std::string::npos);
}

TEST(Help, TellsTheExitCodeOfAFinding) {
  using options::Command;
  for (const Command command : {Command::bench, Command::bench_pairs, Command::bench_compare}) {
    const std::string text = full_help(command);
    EXPECT_NE(text.find("\n  3  ", text.find("\nExit codes:\n")), text.npos) << text;
  }
}

}  // namespace
}  // namespace toprun::cli
