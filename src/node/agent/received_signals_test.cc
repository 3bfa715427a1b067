#include "node/agent/received_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/worker/keeper.h"

namespace toprun::agent {
namespace {

TEST(ReceivedSignals, TellsWhoSentWhat) {
  boost::asio::io_context io;
  std::vector<std::pair<int, pid_t>> taken;
  ReceivedSignals signals(io, [&](const ReceivedSignals::Received& received) {
    taken.emplace_back(received.signal, received.sender);
  });
  signals.add(SIGUSR1);
  signals.add(SIGUSR2);
  signals.add(SIGUSR2);
  ::raise(SIGUSR1);
  const pid_t self = ::getpid();
  const pid_t other = ::fork();
  if (other == 0) ::_exit(::kill(self, SIGUSR2));
  ::waitpid(other, nullptr, 0);
  while (taken.size() < 2) io.run_one();
  EXPECT_EQ(taken, (std::vector<std::pair<int, pid_t>>{{SIGUSR1, self}, {SIGUSR2, other}}));
}

// An engine signals the agent at the moment at which its keeper passes the same signal on: two
// pending ones of an ordinary number would be one.
TEST(ReceivedSignals, WhatTheKeeperPassesOnIsNotLostBesideAnEnginesOwn) {
  boost::asio::io_context io;
  std::vector<int> taken;
  ReceivedSignals signals(
      io, [&](const ReceivedSignals::Received& received) { taken.push_back(received.signal); });
  signals.add(SIGURG);
  signals.add(worker::queued_signal());
  sigset_t both;
  ::sigemptyset(&both);
  ::sigaddset(&both, SIGURG);
  ::sigaddset(&both, worker::queued_signal());
  ::sigprocmask(SIG_BLOCK, &both, nullptr);
  sigval value{};
  value.sival_int = SIGURG;
  ::kill(::getpid(), SIGURG);
  ::sigqueue(::getpid(), worker::queued_signal(), value);
  ::sigprocmask(SIG_UNBLOCK, &both, nullptr);
  while (taken.size() < 2) io.run_one();
  EXPECT_EQ(taken, (std::vector<int>{SIGURG, SIGURG}));
}

TEST(ReceivedSignals, AreTakenBeforeTheLoopComesToThem) {
  boost::asio::io_context io;
  std::vector<int> taken;
  ReceivedSignals signals(
      io, [&](const ReceivedSignals::Received& received) { taken.push_back(received.signal); });
  signals.add(SIGUSR1);
  signals.take();
  EXPECT_TRUE(taken.empty());
  ::raise(SIGUSR1);
  signals.take();
  EXPECT_EQ(taken, std::vector<int>{SIGUSR1});
}

TEST(ReceivedSignals, LeavesNothingBehind) {
  ::signal(SIGUSR1, SIG_IGN);
  {
    boost::asio::io_context io;
    ReceivedSignals signals(io, [](const ReceivedSignals::Received&) {});
    signals.add(SIGUSR1);
    signals.add(SIGUSR2);
  }
  struct sigaction action {};
  ::sigaction(SIGUSR1, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
  ::sigaction(SIGUSR2, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
  ::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace toprun::agent
