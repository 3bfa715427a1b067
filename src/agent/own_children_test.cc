#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <boost/asio/post.hpp>

#include "agent/children.h"
#include "base/fd.h"

namespace toprun::agent {
namespace {

class OwnChildrenTest : public testing::Test {
 protected:
  // A child that has ended and is not reaped.
  void SetUp() override {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    Program program;
    program.argv = {"true"};
    program.environment = {"PATH=/usr/bin:/bin"};
    program.stdin_fd = program.stdout_fd = program.stderr_fd = null.get();
    children_->on_change = [this] { ++changes_; };
    const auto pids = children_->start({program});
    ASSERT_TRUE(pids);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pids->front()), &info, WEXITED | WNOWAIT), 0);
  }
  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  boost::asio::io_context io_;
  std::unique_ptr<Children> children_ = own_children(io_, Inherited::capture(), "n1");
  int changes_ = 0;
};

TEST_F(OwnChildrenTest, TellsOfAnEnd) {
  while (changes_ == 0 && io_.run_one_for(std::chrono::seconds(10)) != 0) {
  }
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(children_->reap().ended.size(), 1u);
  EXPECT_TRUE(children_->reap().childless);
}

// The loop takes the SIGCHLD in and puts its handler behind what is queued already: the handler
// then runs after that, whatever that did.
TEST_F(OwnChildrenTest, IsSilentOnceNobodyWatches) {
  boost::asio::post(io_, [this] { children_->unwatch(); });
  io_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(changes_, 0);
}

TEST_F(OwnChildrenTest, IsNotTouchedAfterItsEnd) {
  boost::asio::post(io_, [this] { children_.reset(); });
  io_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace toprun::agent
