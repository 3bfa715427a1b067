#include "cli/verbs/help/completion.h"

#include <gtest/gtest.h>

#include "cli/options/flags.h"
#include "cli/verbs/help/help.h"

namespace toprun::cli {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(Completion, AsksTheToprunThatWasTyped) {
  EXPECT_TRUE(holds(completion("bash", false, "/opt/toprun"),
                    R"(("${1/#\~/$HOME}" completion --words "${COMP_WORDS[@]:1:COMP_CWORD}")"));
  EXPECT_TRUE(holds(completion("zsh", false, "/opt/toprun"), "$words[1] completion --words"));
  EXPECT_TRUE(holds(completion("fish", false, "/opt/toprun"), "(toprun completion --words"));
}

// The torchrun in PATH may be PyTorch's, which would start a job at each Tab.
TEST(Completion, AsksOursByItsPathUnderTorchrunsName) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion(shell, true, "/opt/my tools/torchrun");
    EXPECT_TRUE(holds(script,
                      "TOPRUN_CALLED_AS=toprun '/opt/my tools/torchrun' completion "
                      "--torchrun-words"))
        << script;
  }
}

TEST(Completion, TcshKnowsTheNamesAndTheWordsOfValues) {
  const std::string script = completion("tcsh", false, {});
  EXPECT_TRUE(holds(script, " 'n/--rdzv-backend/(static c10d)/'"));
  EXPECT_TRUE(holds(script, " gpus-per-node "));
  EXPECT_FALSE(holds(completion("tcsh", true, {}), "gpus-per-node"));
}

}  // namespace
}  // namespace toprun::cli
