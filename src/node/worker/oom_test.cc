#include <gtest/gtest.h>

#include "node/worker/exit_evidence.h"

namespace toprun::worker {
namespace {

TEST(Oom, CountsOfBothVersions) {
  EXPECT_EQ(oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt) << "before Linux 4.13";
  EXPECT_EQ(oom_kills(""), std::nullopt);
}

TEST(Oom, WhichFileCounts) {
  EXPECT_EQ(oom_counter("0::/user.slice/session-3.scope\n"),
            "/sys/fs/cgroup/user.slice/session-3.scope/memory.events");
  EXPECT_EQ(oom_counter("0::/\n"), "/sys/fs/cgroup/memory.events");
  EXPECT_EQ(oom_counter("5:cpu:/\n4:memory:/slurm/job_1\n0::/\n"),
            "/sys/fs/cgroup/memory/slurm/job_1/memory.oom_control");
  EXPECT_EQ(oom_counter("1:name=systemd:/a:b\n"), "");
  EXPECT_EQ(oom_counter("garbage"), "");
}

TEST(Oom, TheKernelsWords) {
  const std::string_view record =
      "3,1234,99887766,-;Memory cgroup out of memory: Killed process 4711 (python3) "
      "total-vm:200000kB, anon-rss:99000kB, file-rss:4kB\n SUBSYSTEM=x\n";
  const std::string_view text = oom_text(record);
  EXPECT_TRUE(text.starts_with("Memory cgroup out of memory")) << text;
  EXPECT_TRUE(text.ends_with("file-rss:4kB")) << text;
  EXPECT_TRUE(names_victim(text, 4711));
  EXPECT_FALSE(names_victim(text, 471));
  EXPECT_FALSE(names_victim("Killed process 47110 (x)", 4711));
  EXPECT_TRUE(names_victim("Out of memory: Killed process 5 (init)", 5));
  EXPECT_EQ(oom_text("6,1,2,-;usb 1-1: new device\n"), "");
  EXPECT_EQ(oom_text("no header"), "");
}

TEST(Oom, NothingSpeaksForALivingProcess) {
  EXPECT_EQ(OomWatch().evidence(::getpid()), "");
}

}  // namespace
}  // namespace toprun::worker
