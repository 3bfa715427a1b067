#include "base/process/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/process/child.h"

namespace toprun::process {
namespace {

TEST(Tree, HasTheChildrenOfAProcess) {
  const std::vector<pid_t> others = children_of(::getpid());  // that other tests have left
  std::vector<pid_t> children(20);
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  std::vector<pid_t> all = others;
  all.insert(all.end(), children.begin(), children.end());
  EXPECT_EQ(children_of(::getpid()), all);
  EXPECT_EQ(children_of(::getpid(), 2), std::vector<pid_t>(all.begin(), all.begin() + 2));
  EXPECT_EQ(descendants(::getpid()), all);
  EXPECT_EQ(descendants(::getpid(), 3).size(), 3u);
  EXPECT_EQ(descendants_without(::getpid(), children), others);
  EXPECT_EQ(parent_of(children.front()), ::getpid());
  for (const pid_t child : children) {
    signal_process(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(children_of(::getpid()), others);
  EXPECT_EQ(parent_of(children.front()), std::nullopt);
}

}  // namespace
}  // namespace toprun::process
