#include "base/os/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace toprun {
namespace {

TEST(Signals, AreFoundByName) {
  for (const char* name : {"SIGTERM", "TERM", "sigterm", "Term"}) {
    EXPECT_EQ(parse_signal(name), SIGTERM) << name;
  }
  EXPECT_EQ(parse_signal("usr1"), SIGUSR1);
  EXPECT_EQ(parse_signal("SIGRTMIN"), SIGRTMIN);
  EXPECT_EQ(parse_signal("RTMAX"), SIGRTMAX);
  EXPECT_EQ(parse_signal("SIGCLD"), SIGCHLD);
  for (const char* none : {"", "SIG", "SIGSIGTERM", "15", "TER", "SIGTERM ", "SIGNULL"}) {
    EXPECT_EQ(parse_signal(none), std::nullopt) << none;
  }
}

TEST(Signals, HaveTheNameThatFindsThem) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGUSR2), "SIGUSR2");
  EXPECT_EQ(signal_name(SIGRTMIN), "SIGRTMIN");
  EXPECT_EQ(signal_name(SIGRTMIN + 1), "signal " + std::to_string(SIGRTMIN + 1));
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(parse_signal(signal_name(signal)), signal);
  }
}

}  // namespace
}  // namespace toprun
