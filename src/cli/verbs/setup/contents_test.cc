#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "cli/verbs/setup/options.h"

namespace toprun::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(SetupContents, AreTheLinesOfARequirementFileThatSaySomething) {
  const struct {
    std::string_view text;
    Lines lines;
  } rows[] = {
      {"", {}},
      {"# all\n\n  torch==2.7.0  # for the cluster\r\nnumpy\n", {"torch==2.7.0", "numpy"}},
      {"name @ https://host/a#egg=name\n", {"name @ https://host/a#egg=name"}},
      {"-c constraints.txt", {"-c constraints.txt"}},
  };
  for (const auto& [text, lines] : rows) EXPECT_EQ(requirement_lines(text), lines) << text;
}

TEST(SetupContents, AreAllThatChangesWhatIsBuilt) {
  const TemporaryFolder folder;
  SetupOptions options;
  options.requested.packages = {"torch"};
  options.requested.requirement_files = {(folder.path() / "r.txt").string()};
  options.requested.system_site_packages = true;
  options.activation.modules = {"cuda/12.4"};
  EXPECT_FALSE(contents_asked(options));
  std::ofstream(folder.path() / "r.txt") << "numpy\n";
  EXPECT_EQ(contents_asked(options),
            (Lines{"--venv", "torch", "numpy", "--modules=cuda/12.4", "--system-site-packages"}));
}

}  // namespace
}  // namespace toprun::cli
