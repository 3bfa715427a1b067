#include "node/worker/spawn/descendants.h"

#include <errno.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace toprun::spawn {
namespace {

TEST(DescribeProcess, AsFarAsProcSays) {
  const std::string text = describe_process(::getpid());
  constexpr std::size_t longest_comm = 15;  // TASK_COMM_LEN without its zero
  const std::string name = std::string(program_invocation_short_name).substr(0, longest_comm);
  EXPECT_TRUE(text.starts_with(fmt::format("{} ({}, state R", ::getpid(), name))) << text;
  EXPECT_EQ(describe_process(999'999'999), "999999999");
}

}  // namespace
}  // namespace toprun::spawn
