#include <gtest/gtest.h>

#include "engines/manual.h"

namespace toprun::engines {
namespace {

std::string outcome_of_check(const Environment& environment, const Hints& hints) {
  const auto checked = check_inherited_world(environment, hints);
  if (!checked) return "refused: " + checked.error().line();
  return *checked ? "said: " + **checked : "";
}

TEST(InheritedWorld, WhoIsRefused) {
  Hints reported, alone, torchrun;
  reported.nnodes = 1;
  alone.standalone = true;
  torchrun.called_torchrun = true;
  const Environment pod{{"RANK", "1"},
                        {"WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "job-master-0"},
                        {"MASTER_PORT", "23456"}};
  const Environment nested{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "x"}};
  const Environment trivial{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}};
  const Environment too_large{{"RANK", "2"}, {"WORLD_SIZE", "2"}};
  const struct {
    const char* what;
    Environment environment;
    Hints hints;
    const char* outcome;  // how it begins or, after …, what it holds
    const char* holds;
  } cases[] = {
      {"nothing", {}, {}, "", ""},
      {"a world of one", trivial, {}, "", ""},
      {"an address only", {{"MASTER_ADDR", "a"}}, {}, "", ""},
      {"a rank only", {{"RANK", "3"}}, {}, "", ""},
      {"empty", {{"RANK", ""}, {"WORLD_SIZE", ""}}, {}, "", ""},
      {"a pod",
       pod,
       {},
       "refused: RANK=1 and WORLD_SIZE=2 are set: another program has started 2",
       "--nnodes 2 --node-rank 1 --master-addr job-master-0 --master-port 23456; for one per rank: "
       "--ranks-in-place"},
      {"a pod that says how many", pod, reported, "", ""},
      {"a pod on its own", pod, alone, "", ""},
      {"a pod, called torchrun", pod, torchrun, "said: RANK=1 and WORLD_SIZE=2 are set", ""},
      {"in a torchrun", nested, {}, "refused: RANK=1", "another torchrun or toprun"},
      {"no rank",
       {{"WORLD_SIZE", "8"}},
       {},
       "said: WORLD_SIZE=8 is set but RANK is not",
       "--nnodes"},
      {"rank too large",
       too_large,
       {},
       "refused: RANK=2 and WORLD_SIZE=2: RANK must be a number",
       "unset"},
      {"no number",
       {{"RANK", "0"}, {"WORLD_SIZE", "all"}},
       {},
       "refused: RANK=0",
       "correct or unset"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string outcome = outcome_of_check(c.environment, c.hints);
    if (*c.outcome == '\0') {
      EXPECT_EQ(outcome, "");
    }
    EXPECT_TRUE(outcome.starts_with(c.outcome)) << outcome;
    EXPECT_NE(outcome.find(c.holds), std::string::npos) << outcome;
  }
}

TEST(InheritedWorld, ManyNodesOfAnEngineThatIsNoneHere) {
  Hints reported, alone, with_file;
  reported.nnodes = 2;
  alone.standalone = true;
  with_file.pbs_nodes = 3;
  const struct {
    Environment environment;
    Hints hints;
    const char* line;
  } rows[] = {
      {{{"LSB_MCPU_HOSTS", "a 4 b 4"}},
       {},
       "the LSF job has 2 nodes (LSB_MCPU_HOSTS), and this toprun starts one; for all nodes add "
       "--hosts \"$LSB_MCPU_HOSTS\""},
      {{{"LSB_MCPU_HOSTS", "a 4 b 4"}}, reported, ""},
      {{{"LSB_MCPU_HOSTS", "a 4 b 4"}}, alone, ""},
      {{{"LSB_MCPU_HOSTS", "a 4"}}, {}, ""},
      {{{"PBS_NODEFILE", "/x"}},
       with_file,
       "the PBS job has 3 nodes (PBS_NODEFILE), and this toprun starts one; for all nodes add "
       "--hostfile $PBS_NODEFILE"},
      {{{"PBS_NUM_NODES", "2"}},
       {},
       "the PBS job has 2 nodes (PBS_NUM_NODES), and this toprun starts one; for all nodes add "
       "--hostfile $PBS_NODEFILE"},
      {{{"PBS_NUM_NODES", "1"}}, {}, ""},
      {{{"SM_HOSTS", "[\"algo-1\",\"algo-2\"]"}},
       {},
       "the SageMaker job has 2 nodes (SM_HOSTS), and this toprun starts one; for all nodes add "
       "--nnodes 2 --rdzv-backend c10d --rdzv-endpoint algo-1"},
      {{{"SM_HOSTS", "[\"algo-1\"]"}}, {}, ""},
      {{{"SKYPILOT_NUM_NODES", "4"}},
       {},
       "the SkyPilot job has 4 nodes (SKYPILOT_NUM_NODES), and this toprun starts one; for all "
       "nodes add --nnodes $SKYPILOT_NUM_NODES --node-rank $SKYPILOT_NODE_RANK --master-addr "
       "$(echo \"$SKYPILOT_NODE_IPS\" | head -n 1)"},
      {{{"SKYPILOT_NUM_NODES", "1"}}, {}, ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(other_nodes_of_a_foreign_job(row.environment, row.hints).value_or(""), row.line);
  }
}

TEST(InheritedWorld, InPlaceByVariables) {
  const Environment whole{{"RANK", "3"},        {"WORLD_SIZE", "4"},     {"LOCAL_RANK", "1"},
                          {"MASTER_ADDR", "a"}, {"MASTER_PORT", "5000"}, {"LOCAL_WORLD_SIZE", "2"}};
  const auto place = in_place_by_variables(whole, {});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->stance, Stance::in_place);
  EXPECT_EQ(place->task, 3);
  EXPECT_EQ(place->tasks, 4);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->node_count, 2);
  EXPECT_EQ(place->root_candidates, std::vector<std::string>{"a"});
  EXPECT_EQ(place->port, 5000);
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"}) {
    Environment less = whole;
    less.unset(name);
    const auto refused = in_place_by_variables(less, {});
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().line().find(std::string(name) + " is not set"), std::string::npos)
        << refused.error().line();
  }
}

}  // namespace
}  // namespace toprun::engines
