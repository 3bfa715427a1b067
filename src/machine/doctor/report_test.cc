#include "machine/doctor/report.h"

#include <gtest/gtest.h>

namespace toprun::doctor {
namespace {

Finding with_commands(std::vector<std::string> commands) {
  return {"mtu", Severity::warning, "the MTU is 1400", "raise it", std::move(commands)};
}

TEST(Report, TheCommandsForOtherHostsLogInThere) {
  const std::string mtu = "ip link set dev eth0 mtu 9000";
  EXPECT_EQ(fixes_text({with_commands({mtu})}, true), "# the MTU is 1400\n" + mtu + "\n");
  EXPECT_EQ(fixes_text({SharedFinding{{"n1"}, with_commands({mtu})}}),
            "# n1: the MTU is 1400\nssh n1 'sudo " + mtu + "'\n");
  EXPECT_EQ(
      fixes_text({SharedFinding{{"n1", "n2"}, with_commands({mtu})}}),
      "# n[1-2]: the MTU is 1400\nfor host in n1 n2; do ssh \"$host\" 'sudo " + mtu + "'; done\n");
  EXPECT_EQ(fixes_text({SharedFinding{{"n1"}, with_commands({"ulimit -n 65536"})}}),
            "# n1: the MTU is 1400\n# on n1, in the shell that starts the job: ulimit -n 65536\n");
}

TEST(Report, OnlyRootNeedsNoSudo) {
  const Finding finding = with_commands({"modprobe x", "ulimit -n 65536"});
  EXPECT_EQ(fixes_text({finding}, false), "# the MTU is 1400\nsudo modprobe x\nulimit -n 65536\n");
  EXPECT_EQ(fixes_text({finding}, true), "# the MTU is 1400\nmodprobe x\nulimit -n 65536\n");
}

TEST(Report, ChecksThatDoNotApplyAreCountedApart) {
  const Finding fine{"ports", Severity::ok, "enough ports are left"};
  Finding idle{"bonds", Severity::ok, "no bond"};
  idle.is_idle = true;
  EXPECT_EQ(findings_text({fine, idle, idle}, false), "1 check found nothing; 2 do not apply\n");
  EXPECT_EQ(findings_text({fine, fine, idle}, false, "n1"),
            "n1: 2 checks found nothing; 1 does not apply\n");
  EXPECT_EQ(findings_text({fine}, false), "1 check found nothing\n");
}

TEST(Report, EqualAdviceIsGivenOnce) {
  const Finding one{"nccl-settings", Severity::warning, "A=1", "remove it"};
  const Finding other{"nccl-settings", Severity::warning, "B=1", "remove it"};
  EXPECT_EQ(findings_text({one, other}, true),
            "warning nccl-settings     A=1\n"
            "warning nccl-settings     B=1\n"
            "                          remove it\n");
  EXPECT_EQ(findings_text({SharedFinding{{"n1"}, one}, SharedFinding{{"n1"}, other}}, 1),
            "warning nccl-settings     n1: A=1\n"
            "warning nccl-settings     n1: B=1\n"
            "                          remove it\n"
            "1 host examined\n");
}

TEST(Report, EachLineBeginsWithTheHost) {
  EXPECT_EQ(findings_text({with_commands({})}, true, "n1"),
            "n1: warning mtu               the MTU is 1400\n"
            "n1:                           raise it\n");
  EXPECT_EQ(fixes_text({with_commands({"ip link"})}, false, "n1"),
            "# n1: the MTU is 1400\nssh n1 'sudo ip link'\n");
}

TEST(Report, ADriverIsLoadedBeforeTheServiceIsStarted) {
  const Finding service{"nvlink-fabric", Severity::error, "down", "", {"systemctl restart x"}};
  const Finding driver{"gpudirect", Severity::warning, "no module", "", {"modprobe y"}};
  const Finding trait{"kernel", Severity::error, "differs", "", {"update"}};
  const std::string text = fixes_text({SharedFinding{{"n1"}, trait}, SharedFinding{{"n1"}, service},
                                       SharedFinding{{"n1"}, driver}});
  EXPECT_LT(text.find("modprobe"), text.find("systemctl"));
  EXPECT_LT(text.find("systemctl"), text.find("update"));
}

}  // namespace
}  // namespace toprun::doctor
