#include "cli/verbs/verbs.h"

#include <gtest/gtest.h>

#include "cli/options/command_lines.h"

namespace toprun::cli {
namespace {

std::string_view asked(const std::vector<std::string>& argv) {
  const auto asked = find_verb(std::span(argv).subspan(std::min<std::size_t>(argv.size(), 1)));
  return asked ? options::line_of(asked->verb->command).name : "";
}

TEST(Verbs, CountOnlyAsTheFirstArgument) {
  EXPECT_EQ(asked({"toprun", "submit", "train.py"}), "submit");
  EXPECT_EQ(asked({"/usr/bin/toprun", "topo", "order", "--json"}), "topo order");
  EXPECT_EQ(asked({"toprun", "train.py", "submit"}), "");
  EXPECT_EQ(asked({"toprun", "-v", "submit"}), "");
  EXPECT_EQ(asked({"toprun", "run", "submit"}), "");
  EXPECT_EQ(asked({"toprun"}), "");
  EXPECT_EQ(asked({}), "");
}

TEST(Verbs, OfAFamilyStandBehindItsName) {
  EXPECT_EQ(asked({"toprun", "topo"}), "topo");
  EXPECT_EQ(asked({"toprun", "topo", "oder"}), "topo");
  EXPECT_EQ(asked({"toprun", "order"}), "");
  for (const Verb* verb : verbs_of("config")) EXPECT_NE(verb->run, nullptr);
}

TEST(RefuseLine, TheFirstOfEqualProcessesTells) {
  const Environment first = {{"SLURM_PROCID", "0"}}, later = {{"SLURM_PROCID", "3"}};
  EXPECT_FALSE(is_told_by_first(first, "slurmstepd"));
  EXPECT_TRUE(is_told_by_first(later, "slurmstepd"));
  EXPECT_FALSE(is_told_by_first(later, "bash")) << "a task's own script";
  EXPECT_FALSE(is_told_by_first({{"SLURM_PROCID", "3"}, {"SLURM_HET_SIZE", "2"}}, "slurmstepd"));
  const Environment rank = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_NUM_APP_CTX", "1"}};
  EXPECT_TRUE(is_told_by_first(rank, "mpirun"));
  EXPECT_TRUE(is_told_by_first(rank, "orted"));
  EXPECT_FALSE(is_told_by_first(rank, "python3"));
  EXPECT_FALSE(
      is_told_by_first({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_NUM_APP_CTX", "2"}}, "mpirun"))
      << "mpirun A : B";
  EXPECT_FALSE(is_told_by_first({}, "slurmstepd"));
}

TEST(Verbs, TorchrunHasNone) {
  EXPECT_EQ(run_verb({"/usr/bin/torchrun", "version"}, {}), std::nullopt);
}

}  // namespace
}  // namespace toprun::cli
