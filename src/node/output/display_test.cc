#include <gtest/gtest.h>

#include "node/output/lines.h"

namespace toprun::output {
namespace {

TEST(Prefix, IsTorchrunsTemplate) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "[trainer3]:"},
      {"[${role_name}${local_rank}]:", "[trainer3]:"},
      {"[${rank}@${hostname}] ", "[11@n7] "},
      {"$rank/$local_rank ", "11/3 "},
      {"$$${rank}$", "$11$"},
      {"${rank", "${rank"},
      {"${colour} $5 ${}", "${colour} $5 ${}"},
      {"$rankle", "$rankle"},
      {"plain", "plain"},
  };
  for (const auto& [text, prefix] : cases) {
    EXPECT_EQ(expand_prefix(text, {"trainer", 3, 11, "n7"}), prefix) << text;
  }
}

TEST(Prefix, IsColouredByNumber) {
  EXPECT_EQ(coloured("[a0]:", 0), "\x1b[36m[a0]:\x1b[0m");
  EXPECT_NE(coloured("x", 0), coloured("x", 1));
  EXPECT_EQ(coloured("x", 0), coloured("x", 100));
}

}  // namespace
}  // namespace toprun::output
