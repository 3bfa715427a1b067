#include <gtest/gtest.h>
#include <unistd.h>

#include "machine/stacks/find.h"

namespace toprun::stacks {
namespace {

TEST(Forbidden, IsExplained) {
  const struct {
    Barriers barriers;
    const char* expected;
  } rows[] = {
      {{1000, 1001, 1, true}, "it runs as another user (1001)"},
      {{1000, 1000, 2, true}, "kernel.yama.ptrace_scope is 2; the value 1 lets toprun read"},
      {{1000, 1000, 1, true}, "this container forbids it; start it with the capability SYS_PTRACE"},
      {{1000, 1000, 1, false}, "the process is not a descendant of this one"},
      {{1000, 1000, {}, false}, "another user namespace"},
      {{0, 1000, {}, false}, "another user namespace"},  // root without the capability
      {{1000, {}, {}, false}, "another user namespace"},
  };
  for (const auto& row : rows) {
    EXPECT_NE(why_forbidden(row.barriers).find(row.expected), std::string::npos)
        << why_forbidden(row.barriers);
  }
}

TEST(Forbidden, ReadsTheUser) {
  EXPECT_EQ(barriers_of(::getpid()).user, ::geteuid());
  EXPECT_EQ(barriers_of(0).user, std::nullopt);
}

}  // namespace
}  // namespace toprun::stacks
