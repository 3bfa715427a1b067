#include <gtest/gtest.h>

#include "engines/engine.h"

namespace toprun::engines {
namespace {

Hints by_hand(int nnodes, std::string endpoint_source) {
  Hints hints;
  hints.nnodes = nnodes;
  hints.nnodes_source = "--nnodes";
  hints.endpoint_source = std::move(endpoint_source);
  hints.host_name = "here";
  return hints;
}

Hints ranked(Hints hints, int node_rank) {
  hints.node_rank = node_rank;
  return hints;
}

Hints indexed(Hints hints, int node_index) {
  hints.node_index = node_index;
  return hints;
}

// A task of a Slurm step of the job n[0-3]: TASKS on NODES, itself on n2.
Environment slurm_task(const std::string& nodes, const std::string& tasks_per_node,
                       const std::string& tasks, const std::string& node_id,
                       const std::string& proc_id) {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_JOB_NODELIST", "n[0-3]"},
          {"SLURM_STEP_ID", "3"},
          {"SLURM_STEP_NODELIST", nodes},
          {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node},
          {"SLURM_STEP_NUM_TASKS", tasks},
          {"SLURMD_NODENAME", "n2"},
          {"SLURM_NODEID", node_id},
          {"SLURM_PROCID", proc_id},
          {"SLURM_LOCALID", "0"},
          {"SLURM_TOPOLOGY_ADDR", "core.s0.n2"},
          {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node"}};
}

const Environment laptop = {{"PATH", "/bin"}};
const Environment one_each = slurm_task("n[0-3]", "1(x4)", "4", "2", "2");
const Environment four_each = slurm_task("n[0-3]", "4(x4)", "16", "2", "8");
const Environment step_per_node = slurm_task("n2", "1", "1", "0", "0");
const Environment batch_script = {
    {"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", "n[0-3]"}, {"SLURMD_NODENAME", "n0"}};

std::string with_own_step(const Hints& hints) {
  Environment environment = one_each;
  environment.set("TOPRUN_STEP", "1");
  const auto found = detect(environment, hints);
  return found ? std::string(name_of(found->engine)) : found.error().line();
}

// "engine stance NODE_COUNT my_node", or the error's line.
std::string detected(const Environment& environment, const Hints& hints) {
  constexpr const char* stances[] = {"single", "agent", "in_place", "starter"};
  const auto found = detect(environment, hints);
  if (!found) return found.error().line();
  return fmt::format("{} {} {} {}", name_of(found->engine),
                     stances[static_cast<int>(found->stance)], found->node_count,
                     found->my_node ? fmt::format("{}", *found->my_node) : "-");
}

TEST(Detect, OutsideAnEngine) {
  struct Case {
    const char* what;
    Hints hints;
    const char* expected;
  };
  Hints none;
  Hints alone;
  alone.standalone = true;
  Hints pod = by_hand(4, "PET_MASTER_ADDR");
  pod.nnodes_source = "PET_NNODES";
  Hints in_place;
  in_place.ranks_in_place = true;
  Hints endpoint_only;
  endpoint_only.endpoint_source = "--rdzv-endpoint";
  for (const auto& [what, hints, expected] : std::vector<Case>{
           {"toprun train.py", none, "local single 1 0"},
           {"--standalone", alone, "local single 1 0"},
           {"--nnodes 1 with rendezvous flags", by_hand(1, "--rdzv-endpoint"), "local single 1 0"},
           {"--nnodes 1 --node-rank 0", ranked(by_hand(1, ""), 0), "local single 1 0"},
           {"--rdzv-endpoint alone", endpoint_only, "local single 1 0"},
           {"c10d without a rank", by_hand(2, "--rdzv-endpoint"), "manual agent 2 -"},
           {"static", ranked(by_hand(2, "--master-addr"), 1), "manual agent 2 1"},
           {"two terminals of one host", ranked(by_hand(2, ""), 1), "manual agent 2 1"},
           {"a pod", indexed(pod, 3), "manual agent 4 3"},
           {"a pod whose command line has a rank", ranked(indexed(pod, 3), 2), "manual agent 4 2"},
           {"a rank beyond the nodes", ranked(by_hand(2, "--master-addr"), 2),
            "node rank 2: there are only 2 nodes (--nnodes); node ranks begin at 0"},
           {"an index beyond the nodes", indexed(pod, 4),
            "node rank 4: there are only 4 nodes (PET_NNODES); node ranks begin at 0"},
           {"a rank without --nnodes", ranked(none, 1),
            "--node-rank 1: the job has 1 node (default); give --nnodes"},
           {"--ranks-in-place", in_place,
            "--ranks-in-place: no engine started one process per rank here, and RANK is not set; "
            "start toprun by srun -n RANKS, or set RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR "
            "for "
            "each process"},
       }) {
    EXPECT_EQ(detected(laptop, hints), expected) << what;
  }
}

// torchrun's habits inside Slurm: the user names the meeting point, Slurm the node.
TEST(Detect, ByHandInsideSlurm) {
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* expected;
  };
  Environment terminal = one_each;
  terminal.set("SLURM_PTY_PORT", "4711");
  Hints in_terminal = by_hand(4, "--rdzv-endpoint");
  in_terminal.terminal = true;
  Hints in_place = by_hand(4, "--rdzv-endpoint");
  in_place.ranks_in_place = true;
  for (const auto& [what, environment, hints, expected] : std::vector<Case>{
           {"srun toprun --nnodes 4 --rdzv_endpoint", one_each, by_hand(4, "--rdzv-endpoint"),
            "manual agent 4 2"},
           {"with --node_rank $SLURM_PROCID", one_each, ranked(by_hand(4, "--rdzv-endpoint"), 3),
            "manual agent 4 3"},
           {"no endpoint: Slurm's own way", one_each, by_hand(4, ""), "slurm agent 4 2"},
           {"an endpoint from PET_ only", one_each, by_hand(4, "PET_RDZV_ENDPOINT"),
            "slurm agent 4 2"},
           {"every task counts as a node", four_each, by_hand(16, "--rdzv-endpoint"),
            "manual agent 16 8"},
           {"several tasks per node after all", four_each, by_hand(4, "--rdzv-endpoint"),
            "slurm in_place 4 2"},
           {"in place by wish", one_each, in_place, "slurm in_place 4 2"},
           {"a step of its own for each node", step_per_node, by_hand(4, "--master-addr"),
            "manual agent 4 2"},
           {"the same over two jobs", step_per_node, by_hand(8, "--master-addr"),
            "manual agent 8 -"},
           {"the batch script itself", batch_script, ranked(by_hand(4, "--master-addr"), 0),
            "manual agent 4 0"},
           {"fewer nodes than tasks", one_each, by_hand(2, "--rdzv-endpoint"),
            "--nnodes 2: this Slurm step has 4 tasks on 4 nodes, and each task is a separate "
            "toprun; start "
            "one "
            "task per node: srun -N 2 --ntasks-per-node=1 toprun …"},
           {"srun --pty bash", terminal, in_terminal,
            "this is one of 4 tasks of an interactive step (srun --pty): only this task has the "
            "terminal, so the other tasks cannot join; leave this shell and type: srun -N 4 "
            "--ntasks-per-node=1 toprun …"},
       }) {
    EXPECT_EQ(detected(environment, hints), expected) << what;
  }
  EXPECT_EQ(with_own_step(by_hand(4, "--rdzv-endpoint")), "slurm");
}

TEST(Detect, ByHandKeepsSlurmsEvidence) {
  const auto found = detect(one_each, by_hand(4, "--rdzv-endpoint"));
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->node_name, "n2");
  EXPECT_EQ(found->location, "core.s0.n2");
  EXPECT_EQ(found->location_pattern, "switch.switch.node");
  EXPECT_EQ(found->port, std::nullopt);
  EXPECT_EQ(found->job, "");
  ASSERT_EQ(found->nodes.size(), 4u);
  EXPECT_EQ(found->nodes[2].name, "n2");
}

TEST(Detect, NotesWhatOthersMustDo) {
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* note;
  };
  for (
      const auto& [what, environment, hints, note] : std::vector<Case>{
          {"no meeting point", laptop, by_hand(2, ""),
           "--nnodes 2 without --rdzv-endpoint or --master-addr: toprun waits for the other nodes' "
           "toprun on this same host; for other hosts, give each --rdzv-endpoint HOST:PORT, or use "
           "--hosts"},
          {"srun forgotten", batch_script, by_hand(4, "--rdzv-endpoint"),
           "this toprun starts one node of 4 and waits for the others; to start all nodes, drop "
           "--rdzv-endpoint and --node-rank"},
          {"all said", laptop, by_hand(2, "--rdzv-endpoint"), ""},
          {"all said in Slurm", one_each, by_hand(4, "--rdzv-endpoint"), ""},
      }) {
    const auto found = detect(environment, hints);
    ASSERT_TRUE(found) << what << ": " << found.error().line();
    EXPECT_EQ(found->notes.empty() ? "" : found->notes[0], note) << what;
  }
}

TEST(Detect, RefusesToMakeWorldsOfOne) {
  for (const auto& [variable, size, refused] :
       std::vector<std::tuple<const char*, const char*, bool>>{
           {"PMI_SIZE", "4", true}, {"PMI_SIZE", "2", true}, {"PMI_SIZE", "1", false}}) {
    const Environment environment = {{variable, size}};
    EXPECT_EQ(!detect(environment, Hints{}), refused) << variable << "=" << size;
    EXPECT_TRUE(detect(environment, by_hand(1, ""))) << "as asked";
    EXPECT_TRUE(detect(environment, by_hand(4, "--rdzv-endpoint"))) << "told where to meet";
  }
}

TEST(AgentCommand, IsSlurmsOnly) {
  const auto local = detect(laptop, Hints{});
  ASSERT_TRUE(local);
  EXPECT_FALSE(agent_command(laptop, *local, {"/opt/toprun"}));
}

}  // namespace
}  // namespace toprun::engines
