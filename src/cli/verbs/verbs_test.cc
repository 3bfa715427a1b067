#include "cli/verbs/verbs.h"

#include <gtest/gtest.h>

#include "cli/options/command_lines.h"

namespace toprun::cli {
namespace {

std::string_view asked(const std::vector<std::string>& argv) {
  const auto asked = find_verb(std::span(argv).subspan(std::min<std::size_t>(argv.size(), 1)));
  return asked ? options::line_of(asked->verb->command).name : "";
}

TEST(Verbs, CountOnlyAsTheFirstArgument) {
  EXPECT_EQ(asked({"toprun", "submit", "train.py"}), "submit");
  EXPECT_EQ(asked({"/usr/bin/toprun", "topo", "order", "--json"}), "topo order");
  EXPECT_EQ(asked({"toprun", "train.py", "submit"}), "");
  EXPECT_EQ(asked({"toprun", "-v", "submit"}), "");
  EXPECT_EQ(asked({"toprun", "run", "submit"}), "");
  EXPECT_EQ(asked({"toprun"}), "");
  EXPECT_EQ(asked({}), "");
}

TEST(Verbs, OfAFamilyStandBehindItsName) {
  EXPECT_EQ(asked({"toprun", "topo"}), "topo");
  EXPECT_EQ(asked({"toprun", "topo", "oder"}), "topo");
  EXPECT_EQ(asked({"toprun", "order"}), "");
  for (const Verb* verb : verbs_of("config")) EXPECT_NE(verb->run, nullptr);
}

TEST(Verbs, TorchrunHasNone) {
  EXPECT_EQ(run_verb({"/usr/bin/torchrun", "version"}, {}), std::nullopt);
}

}  // namespace
}  // namespace toprun::cli
