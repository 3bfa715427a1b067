#include "node/launch/login.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace toprun::launch {
namespace {

constexpr int no_namespace = 77;
constexpr int went_wrong = 2;

// Ends with 0 if a process that has nothing to do with the login outlives abandon().
int abandon_one_that_has_ended() {
  const pid_t bystander = ::fork();
  if (bystander == 0) {
    ::signal(SIGTERM, SIG_DFL);
    for (;;) ::pause();
  }
  boost::asio::io_context io;
  output::Terminal terminal(io, output::ConsoleDescriptors{}, false);
  const auto login = std::make_shared<Login>(
      io, terminal, engines::EngineKind::ssh, "n1", [](std::string_view) { return Login::Bytes(); },
      [] {});
  // As ssh with ControlPersist: what it leaves behind keeps its outputs open.
  login->start({"sh", "-c", "sleep 60 & exit 0"}, {{"PATH", "/usr/bin:/bin"}},
               spawn::Inherited::capture());
  int status = 0;
  if (login->pid() <= 0 || ::waitpid(login->pid(), &status, 0) != login->pid()) return went_wrong;
  login->ended(status);
  if (login->is_over()) return went_wrong;
  login->abandon();
  ::usleep(50'000);
  const bool lives = ::waitpid(bystander, nullptr, WNOHANG) == 0;
  ::kill(bystander, SIGKILL);
  return lives ? 0 : 1;
}

// In a namespace of process ids of its own: a kill(-1) reaches no other process.
TEST(Login, OneThatHasEndedIsNotSignalled) {
  const pid_t outside = ::fork();
  if (outside == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(no_namespace);
    const pid_t inside = ::fork();
    if (inside == 0) ::_exit(abandon_one_that_has_ended());
    int status = 0;
    ::waitpid(inside, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : went_wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outside, &status, 0), outside);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_namespace) GTEST_SKIP() << "needs root";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace toprun::launch
