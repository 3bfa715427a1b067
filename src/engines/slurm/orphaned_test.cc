#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "engines/engine.h"

namespace toprun::engines {
namespace {

// A job whose batch script's node is lost, and a scontrol that does not take the first `refused`
// requeues.
class LostBatchHost {
 public:
  explicit LostBatchHost(int refused) {
    const std::filesystem::path program = folder_.path() / "scontrol";
    std::ofstream(program) << fmt::format(R"sh(#!/bin/sh
cd {}
echo "$*" >>asked
state=PENDING
test "$(grep -c requeue asked)" -gt {} || state=RUNNING
case $* in
show\ config) echo "SlurmdTimeout = 10 sec" ;;
show\ job*) echo "JobId=7 JobState=$state BatchFlag=1 NodeList=n[1-2] BatchHost=n0 Requeue=1" ;;
*) exit 1 ;;
esac
)sh",
                                          folder_.path().string(), refused);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  // What the second node asks, which waits `pauses` times.
  std::string asked(int pauses) const {
    const Environment environment({{"SLURM_JOB_ID", "7"},
                                   {"SLURM_NODEID", "1"},
                                   {"PATH", folder_.path().string() + ":/usr/bin:/bin"}});
    requeue_orphaned(environment, [&](std::chrono::milliseconds) { return pauses-- > 0; });
    return read_file(folder_.path() / "asked", 10'000).value_or("");
  }

 private:
  TemporaryFolder folder_;
};

TEST(SettleOrphaned, LooksWhetherTheJobIsBackInTheQueue) {
  EXPECT_EQ(LostBatchHost(0).asked(5), "show config\nshow job -o 7\nrequeue 7\nshow job -o 7\n");
}

TEST(SettleOrphaned, AsksOnceMoreWhatSlurmDidNotTake) {
  EXPECT_EQ(LostBatchHost(1).asked(5),
            "show config\nshow job -o 7\nrequeue 7\nshow job -o 7\nrequeue 7\nshow job -o 7\n");
}

TEST(SettleOrphaned, HasAnEnd) {
  EXPECT_EQ(LostBatchHost(9).asked(1),
            "show config\nshow job -o 7\nrequeue 7\nshow job -o 7\nrequeue 7\n");
}

}  // namespace
}  // namespace toprun::engines
