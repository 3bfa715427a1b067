#include "cli/verbs/cluster.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/jobs/job_words.h"
#include "cli/verbs/file_systems.h"
#include "observe/report/columns.h"

namespace toprun::cli {
namespace {

using engines::ClusterNode;

ClusterNode node(const char* name, bool usable, bool idle, std::int64_t gpus, std::int64_t used,
                 const char* kind) {
  ClusterNode out;
  out.name = name;
  out.partitions = {"main", "debug"};
  out.usable = usable;
  out.idle = idle;
  out.gpus = gpus;
  out.used_gpus = used;
  out.gpu_kind = kind;
  return out;
}

TEST(Cluster, CountsWhatIsFree) {
  engines::Machines machines;
  machines.partitions.resize(3);
  machines.partitions[0].name = "debug";
  machines.partitions[1].name = "main";
  machines.partitions[1].is_default = true;
  machines.partitions[2].name = "quiet";
  machines.partitions[2].limit = std::chrono::minutes(30);
  machines.nodes = {node("n0", true, true, 8, 0, "h100"), node("n1", true, false, 8, 5, "h100"),
                    node("n2", false, false, 8, 0, "h100"), node("n3", true, true, 2, 0, "")};
  const auto views = views_of(machines);
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].partition.name, "main");
  EXPECT_EQ(views[0].nodes, 4);
  EXPECT_EQ(join(views[0].idle, " "), "n0 n3");
  EXPECT_EQ(views[0].debug, "");
  ASSERT_EQ(views[0].gpus.size(), 2u);
  EXPECT_EQ(views[0].gpus[0].kind, "h100");
  EXPECT_EQ(views[0].gpus[0].total, 24);
  EXPECT_EQ(views[0].gpus[0].free, 11);  // none of the node that takes no jobs
  EXPECT_EQ(views[0].gpus[1].free, 2);
  EXPECT_EQ(views[1].debug, "for tests, by its name");
  EXPECT_EQ(views[2].debug, "for short jobs: at most 30:00");
  EXPECT_EQ(views[2].nodes, 0);
}

TEST(Cluster, SaysWhetherUsageIsKnown) {
  engines::Machines machines;
  machines.partitions.resize(1);
  machines.usage_known = false;
  const auto views = views_of(machines);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_FALSE(views.front().usage_known);
}

TEST(Cluster, NamesEachPlaceOnce) {
  const auto found = places({{"HOME", "/home/me"},
                             {"SCRATCH", "/scratch/me"},
                             {"WORK", "/scratch/me"},
                             {"PROJECT", "relative"},
                             {"DATA", ""}},
                            "/home/me");
  std::string text;
  for (const FileSystem& place : found) text += fmt::format("{}={}; ", place.use, place.path);
  EXPECT_EQ(text, "$HOME, here=/home/me; $WORK, $SCRATCH=/scratch/me; temporary=/tmp; ");
}

TEST(Cluster, ReadsQuotas) {
  constexpr std::string_view reported =
      "Disk quotas for user bob (uid 1000): \n"
      "     Filesystem   space   quota   limit   grace   files   quota   limit   grace\n"
      "nas:/home 1024* 512 2048 0 10 0 0 0\n"
      "/dev/sdb1 4 0 8 0 1 0 0 0\n"
      "/dev/sdc1 4 0 0 0 1 0 0 0\n"
      "/dev/sdd1 many 1 1 0\n";
  for (const auto& [device, used, limit] :
       std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>{
           {"nas:/home", 1024 * 1024, 512 * 1024},
           {"/dev/sdb1", 4 * 1024, 8 * 1024},  // only a hard limit
           {"/dev/sdc1", 0, 0},                // no limit
           {"/dev/sdd1", 0, 0},
           {"/dev/sde1", 0, 0},
       }) {
    const auto quota = parse_quota(reported, device);
    EXPECT_EQ(quota ? quota->used_bytes : 0, used) << device;
    EXPECT_EQ(quota ? quota->limit_bytes : 0, limit) << device;
  }
  const auto lustre = parse_lustre_quota("     /scratch   12345*  10000   20000  6d  10 0 0 -\n");
  ASSERT_TRUE(lustre);
  EXPECT_EQ(lustre->used_bytes, 12'345u * 1024);
  EXPECT_EQ(lustre->limit_bytes, 10'000u * 1024);
  EXPECT_FALSE(parse_lustre_quota("no quota"));
}

TEST(JobWords, WritesTimesAsSlurmDoes) {
  for (const auto& [seconds, text] : std::vector<std::pair<int, std::string>>{
           {0, "0:00"}, {63, "1:03"}, {3'723, "1:02:03"}, {90'061, "1-01:01:01"}}) {
    EXPECT_EQ(jobs::clock_text(std::chrono::seconds(seconds)), text);
  }
}

TEST(JobWords, TellsProgress) {
  engines::Progress progress;
  EXPECT_EQ(jobs::progress_text(progress), "");
  progress.percent = 42;
  EXPECT_EQ(jobs::progress_text(progress), "42 % done");
  progress.remaining = std::chrono::minutes(63);
  progress.metrics = {{"loss", "0.31"}};
  progress.reported = WallTime();
  EXPECT_EQ(jobs::progress_text(progress),
            "42 % done, 1:03:00 left, loss 0.31; reported at " + time_text(WallTime()));
}

TEST(JobWords, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(
      report::columns_text({{"ID", "NAME", "N"}, {"7", "größer", "10"}, {"12", "x", ""}}, {0}),
      "ID  NAME    N\n 7  größer  10\n12  x\n");
}

}  // namespace
}  // namespace toprun::cli
