#include "cli/verbs.h"

#include <gtest/gtest.h>

namespace toprun::cli {
namespace {

std::string_view asked(const std::vector<std::string>& argv) {
  const Verb* verb = asked_verb(argv);
  return verb == nullptr ? "" : verb->name;
}

TEST(Verbs, CountOnlyAsTheFirstArgument) {
  EXPECT_EQ(asked({"toprun", "submit", "train.py"}), "submit");
  EXPECT_EQ(asked({"/usr/bin/toprun", "topo", "order", "--json"}), "topo");
  EXPECT_EQ(asked({"toprun", "train.py", "submit"}), "");
  EXPECT_EQ(asked({"toprun", "-v", "submit"}), "");
  EXPECT_EQ(asked({"toprun", "run", "submit"}), "");
  EXPECT_EQ(asked({"toprun"}), "");
  EXPECT_EQ(asked({}), "");
}

TEST(Verbs, TorchrunHasNone) {
  EXPECT_EQ(asked({"/usr/bin/torchrun", "submit"}), "");
}

}  // namespace
}  // namespace toprun::cli
