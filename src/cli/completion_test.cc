#include "cli/completion.h"

#include <gtest/gtest.h>

#include "cli/flags.h"

namespace toprun::cli {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

// Whether the word stands there between characters that no option's name has.
bool holds_word(const std::string& text, std::string_view word) {
  const auto in_name = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) {
    if (!in_name(text[at - 1]) && !in_name(text[at + word.size()])) return true;
  }
  return false;
}

TEST(Completion, KnowsEveryOptionThatTheNameHas) {
  const auto known = [](const Flag& flag, bool called_torchrun) {
    if (called_torchrun) return knows(Dialect::torchrun, flag);
    return knows(Dialect::run, flag) || knows(Dialect::submit, flag) ||
           knows(Dialect::shell, flag) || knows(Dialect::setup, flag);
  };
  for (const std::string shell : {"bash", "zsh", "fish", "tcsh"}) {
    for (const bool called_torchrun : {false, true}) {
      const std::string script = completion(shell, called_torchrun);
      EXPECT_TRUE(script.ends_with('\n'));
      for (const Flag& flag : all_flags()) {
        if (flag.name.empty()) continue;
        if (flag.name == "--exclusive") continue;  // also a word of --numa-binding's
        // zsh's has the options' help too, which names other options.
        const std::string word = shell == "zsh"    ? fmt::format("*{}", flag.name)
                                 : shell == "fish" ? fmt::format("-l {}", flag.name.substr(2))
                                 : shell == "tcsh" ? std::string(flag.name.substr(2))
                                                   : std::string(flag.name);
        EXPECT_EQ(holds_word(script, word), known(flag, called_torchrun))
            << shell << ' ' << flag.name;
      }
    }
  }
}

TEST(Completion, OffersTheWordsOfAValue) {
  EXPECT_TRUE(holds(completion("bash", false), "*:--rdzv-backend) words='static c10d' ;;\n"));
  EXPECT_TRUE(holds(completion("zsh", false), ":static|c10d:(static c10d)' \\\n"));
  EXPECT_TRUE(holds(completion("tcsh", false), " 'n/--rdzv-backend/(static c10d)/'"));
}

TEST(Completion, ZshSeesNoBracketOrColonOfOurTexts) {
  EXPECT_TRUE(holds(completion("zsh", false), "HOST\\[\\:PORT\\]"));
  EXPECT_TRUE(holds(completion("zsh", false), "This node'\\''s place"));
}

}  // namespace
}  // namespace toprun::cli
