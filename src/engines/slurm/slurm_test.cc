#include "engines/slurm/slurm.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/allocation.h"
#include "engines/slurm/slurm_testing.h"

namespace toprun::engines {
namespace {

std::string text(Stance stance) {
  switch (stance) {
    case Stance::single:
      return "single";
    case Stance::agent:
      return "agent";
    case Stance::in_place:
      return "in_place";
    case Stance::starter:
      return "starter";
  }
  return "?";
}

// "stance NODE_COUNT my_node", or the error's line.
std::string detected_slurm(const Environment& environment, const Hints& hints) {
  const auto found = detect(environment, hints);
  if (!found) return found.error().line();
  EXPECT_EQ(found->engine, EngineKind::slurm);
  EXPECT_FALSE(found->reasons.empty());
  return fmt::format("{} {} {}", text(found->stance), found->node_count,
                     found->my_node ? fmt::format("{}", *found->my_node) : "-");
}

// As Slurm 22.05 sets them in a batch script of two components.
const Environment het_batch = {{"SLURM_JOB_ID", "1"},
                               {"SLURM_HET_SIZE", "2"},
                               {"SLURM_JOB_NODELIST", "n2"},
                               {"SLURM_JOB_NODELIST_HET_GROUP_0", "n2"},
                               {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[0-1]"},
                               {"SLURM_NTASKS", "2"},
                               {"SLURM_NTASKS_HET_GROUP_0", "2"},
                               {"SLURM_NTASKS_PER_NODE_HET_GROUP_0", "2"},
                               {"SLURM_TASKS_PER_NODE", "2"},
                               {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "2"},
                               {"SLURMD_NODENAME", "n2"}};

TEST(Slurm, StanceByWhoStartedUs) {
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* expected;
  };
  Hints in_place = nothing();
  in_place.ranks_in_place = true;
  Hints alone = nothing();
  alone.standalone = true;
  Hints terminal = nothing();
  terminal.terminal = true;
  const std::string interactive = "4294967290";
  for (const auto& [what, environment, hints, expected] : std::vector<Case>{
           {"batch script", batch, nothing(), "starter 4 -"},
           {"batch script, newer Slurm", with(batch, {{"SLURM_STEP_ID", "4294967291"}}), nothing(),
            "starter 4 -"},
           {"batch script, Slurm 26.05", with(batch, {{"SLURM_STEP_ID", "-5"}}), nothing(),
            "starter 4 -"},
           {"interactive step, Slurm 26.05",
            with(batch, {{"SLURM_STEP_ID", "-6"}, {"SLURM_PTY_PORT", "4711"}}), terminal,
            "starter 4 -"},
           {"salloc on the login node", salloc_shell, nothing(), "starter 4 -"},
           {"salloc with an interactive step",
            with(batch, {{"SLURM_STEP_ID", interactive}, {"SLURM_PTY_PORT", "4711"}}), terminal,
            "starter 4 -"},
           {"part of the nodes", batch, nnodes(2), "starter 2 -"},
           {"part of the nodes by PET", batch, nnodes(2, "PET_NNODES"), "starter 2 -"},
           {"--nnodes 1 never starts a step", batch, nnodes(1), "single 1 0"},
           {"--standalone neither", batch, alone, "single 1 0"},
           {"nor from salloc's shell", salloc_shell, nnodes(1), "single 1 0"},
           {"PET_NNODES=1 on a node of the job", batch, nnodes(1, "PET_NNODES"), "single 1 0"},
           {"PET_NNODES=1 on the login node", salloc_shell, nnodes(1, "PET_NNODES"), "starter 1 -"},
           {"job of one node", with(batch, {{"SLURM_JOB_NODELIST", "n0"}}), nothing(),
            "single 1 0"},
           {"job of one node, from the login node",
            with(salloc_shell, {{"SLURM_JOB_NODELIST", "n0"}}), nothing(), "starter 1 -"},
           {"one task per node", step_of_agents, nothing(), "agent 4 2"},
           {"one task per node, said again", step_of_agents, nnodes(4), "agent 4 2"},
           {"our own step", with(step_of_agents, {{"TOPRUN_STEP", "1"}}), nothing(), "agent 4 2"},
           {"our own step of one node", with(step_of_one, {{"TOPRUN_STEP", "1"}}), nothing(),
            "agent 1 0"},
           {"several tasks per node", step_of_ranks, nothing(), "in_place 4 2"},
           {"several tasks on one node",
            with(step_of_one, {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "4"}}),
            nothing(), "in_place 1 0"},
           {"one rank per node", step_of_agents, in_place, "in_place 4 2"},
           {"one task", step_of_one, nothing(), "single 1 0"},
           {"one task in a terminal", with(step_of_one, {{"SLURM_PTY_PORT", "4711"}}), terminal,
            "single 1 0"},
           {"a step from within a terminal's step",
            with(step_of_agents, {{"SLURM_PTY_PORT", "4711"}}), nothing(), "agent 4 2"},
           {"four worlds of one, as asked", step_of_agents, nnodes(1), "single 1 0"},
           {"four worlds of one, as asked", step_of_ranks, alone, "single 1 0"},
           {"a heterogeneous job, one node of it", with(batch, {{"SLURM_HET_SIZE", "2"}}),
            nnodes(1), "single 1 0"},
       }) {
    EXPECT_EQ(detected_slurm(environment, hints), expected) << what;
  }
}

TEST(Slurm, RefusesWithWhatToDo) {
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* expected;
  };
  Hints in_place = nothing();
  in_place.ranks_in_place = true;
  Hints terminal = nothing();
  terminal.terminal = true;
  Hints ranked = nothing();
  ranked.node_rank = 0;
  Hints standalone = nnodes(4);
  standalone.standalone = true;
  Hints rank_of_agent = nothing();
  rank_of_agent.node_rank = 4;
  for (const auto& [what, environment, hints, expected] : std::vector<Case>{
           {"srun --pty bash", with(step_of_agents, {{"SLURM_PTY_PORT", "4711"}}), terminal,
            "this is one of 4 tasks of an interactive step (srun --pty): only this task has the "
            "terminal, so the other tasks cannot join; leave this shell and type: srun -N 4 "
            "--ntasks-per-node=1 toprun …"},
           {"more nodes than the job", batch, nnodes(5),
            "--nnodes 5: the Slurm job has 4 nodes: n[0-3]; request more nodes in the job's header "
            "(--nodes=5)"},
           {"another node count than the step's", step_of_agents, nnodes(2),
            "--nnodes 2: this Slurm step has 4 tasks on 4 nodes; drop --nnodes or start the step "
            "with srun -N 2; with --max-restarts the nodes that the job does not need wait as "
            "spares"},
           {"four worlds of one by a variable", step_of_agents, nnodes(1, "PET_NNODES"),
            "PET_NNODES 1: this Slurm step has 4 tasks on 4 nodes; drop PET_NNODES or start the "
            "step "
            "with srun -N 1"},
           {"four worlds of one without an index", with(step_of_agents, {{"SLURM_NODEID", "-"}}),
            nothing(),
            "SLURM_NODEID is not set: Slurm's other variables show that this is a Slurm job; "
            "pass on all SLURM_ variables or none"},
           {"--ranks-in-place in a batch script", batch, in_place,
            "--ranks-in-place: Slurm did not start one process per rank here; start toprun by srun "
            "-n "
            "RANKS, "
            "or drop the option"},
           {"--node-rank in a batch script", batch, ranked,
            "--node-rank 0: toprun starts 4 nodes of this Slurm job itself; drop --node-rank, "
            "or give "
            "--nnodes and --rdzv-endpoint too and start every node yourself"},
           {"--node-rank beyond the nodes", step_of_agents, rank_of_agent,
            "--node-rank 4: the job has 4 nodes (SLURM_STEP_NODELIST)"},
           {"--standalone with more nodes", batch, standalone,
            "--standalone with --nnodes 4: --standalone is for one node; drop --standalone"},
           {"a heterogeneous job that does not name its nodes",
            with(batch, {{"SLURM_HET_SIZE", "2"}}), nothing(),
            "SLURM_JOB_NODELIST_HET_GROUP_0 is not set: Slurm's other variables show that this is "
            "a Slurm job; pass on all SLURM_ variables or none"},
           {"part of a heterogeneous job", het_batch, nnodes(2),
            "--nnodes 2: toprun uses all components of a heterogeneous Slurm job: 3 nodes; drop "
            "it, or start "
            "one component's nodes by srun --het-group=N toprun …"},
           {"our own step, several tasks per node", with(step_of_ranks, {{"TOPRUN_STEP", "1"}}),
            nothing(),
            "the Slurm step that toprun started has 16 tasks on 4 nodes: it needs one task per "
            "node; unset "
            "TOPRUN_STEP if you started this step yourself"},
           {"a launcher of ranks in a batch script", with(batch, {{"PMI_SIZE", "4"}}), nothing(),
            "a launcher started 4 processes (PMI_SIZE): each process would be a separate job with "
            "one node; "
            "start one toprun per node and give --nnodes, --node-rank and --rdzv-endpoint"},
       }) {
    EXPECT_EQ(detected_slurm(environment, hints), expected) << what;
  }
}

// Whatever Slurm's variables hold, the error is one line that names the variable.
TEST(Slurm, NamesTheMalformedVariable) {
  struct Case {
    Environment environment;
    const char* variable;
    const char* value;
  };
  for (const auto& [environment, variable, value] : std::vector<Case>{
           {batch, "SLURM_JOB_ID", "x"},
           {batch, "SLURM_JOB_ID", "0"},
           {batch, "SLURM_JOB_ID", "99999999999999999999"},
           {batch, "SLURM_JOB_ID", ""},
           {batch, "SLURM_JOB_NODELIST", "n[1-"},
           {batch, "SLURM_JOB_NODELIST", "n[3-1]"},
           {batch, "SLURM_JOB_NODELIST", "n[0-999999999]"},
           {batch, "SLURM_JOB_NODELIST", ""},
           {batch, "SLURM_JOB_NODELIST", "-"},
           {batch, "SLURM_TASKS_PER_NODE", "4(x"},
           {batch, "SLURM_TASKS_PER_NODE", "0(x4)"},
           {batch, "SLURM_NTASKS_PER_NODE", "many"},
           {batch, "SLURM_HET_SIZE", "two"},
           {batch, "SLURM_STEP_ID", "-1"},
           {batch, "SLURM_STEP_ID", "1.0"},
           {batch, "SLURM_STEP_ID", "4294967296"},
           {step_of_agents, "SLURM_STEP_NODELIST", "n[0-3"},
           {step_of_agents, "SLURM_STEP_NODELIST", "-"},
           {step_of_agents, "SLURM_STEP_NODELIST", "n[0-2]"},
           {step_of_agents, "SLURM_STEP_NODELIST", "n[4-7]"},
           {step_of_agents, "SLURM_STEP_NUM_TASKS", "5"},
           {step_of_agents, "SLURM_STEP_NUM_TASKS", "-"},
           {step_of_agents, "SLURM_STEP_NUM_TASKS", "1e3"},
           {step_of_agents, "SLURM_STEP_TASKS_PER_NODE", "1(x4"},
           {step_of_agents, "SLURM_STEP_TASKS_PER_NODE", "1(x3)"},
           {step_of_agents, "SLURM_STEP_TASKS_PER_NODE", "1(x1000000000)"},
           {step_of_agents, "SLURM_NODEID", "4"},
           {step_of_agents, "SLURM_NODEID", "-1"},
           {step_of_agents, "SLURM_NODEID", "two"},
           {step_of_ranks, "SLURM_LOCALID", "4"},
           {step_of_ranks, "SLURM_LOCALID", "-"},
           {step_of_ranks, "SLURM_LOCALID", "\n"},
           {with(step_of_agents, {{"TOPRUN_STEP", "1"}}), "TOPRUN_SLOTS", "4(x"},
           {with(step_of_agents, {{"TOPRUN_STEP", "1"}}), "TOPRUN_SLOTS", "4(x3)"},
       }) {
    const auto found = detect(with(environment, {{variable, value}}), nothing());
    ASSERT_FALSE(found) << variable << "=" << value;
    const std::string line = found.error().line();
    EXPECT_NE(line.find(variable), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

TEST(Slurm, FactsOfAnAgent) {
  const auto found = detect(with(step_of_agents, {{"SLURM_CLUSTER_NAME", "alps"}}), nothing());
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->node_name, "n2");
  EXPECT_EQ(found->job, "slurm.alps.17.3");
  EXPECT_EQ(found->port, 61000 + 17 * 7 + 3);
  EXPECT_EQ(found->location, "core.s0.n2");
  EXPECT_EQ(found->location_pattern, "switch.switch.node");
  EXPECT_EQ(found->node_count_source, "SLURM_STEP_NODELIST");
  EXPECT_FALSE(found->started_by_toprun);
  ASSERT_EQ(found->nodes.size(), 4u);
  EXPECT_EQ(found->nodes[2].name, "n2");
  EXPECT_EQ(found->nodes[2].slots, std::nullopt);
}

TEST(Slurm, NodesOfAStepThatAreNotNeededAreSparesOfAJobThatReplacesNodes) {
  Hints three = nnodes(3);
  three.replaces_nodes = true;
  const auto found = detect(with(step_of_agents, {{"SLURM_NODEID", "3"}}), three);
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->node_count, 3);
  EXPECT_EQ(found->my_node, 3);
  EXPECT_EQ(found->nodes.size(), 4u);
  Hints one = nnodes(1, "PET_NNODES");
  one.replaces_nodes = true;
  EXPECT_FALSE(detect(step_of_agents, one)) << "each process would be a separate job";
  EXPECT_FALSE(detect(step_of_ranks, three)) << "ranks in place have no spares";
}

TEST(Slurm, FactsOfARankInPlace) {
  const auto found = detect(with(step_of_ranks, {{"SLURM_STEP_NUM_TASKS", "14"},
                                                 {"SLURM_STEP_TASKS_PER_NODE", "4,3(x2),4"}}),
                            nothing());
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->tasks_on_my_node, 3);
  std::vector<int> slots;
  for (const Node& node : found->nodes) slots.push_back(node.slots.value_or(-1));
  EXPECT_EQ(slots, (std::vector<int>{4, 3, 3, 4}));
}

TEST(Slurm, FactsOfOurOwnAgent) {
  // The starter took two of the job's nodes.
  const auto found = detect(with(step_of_agents, {{"TOPRUN_STEP", "1"},
                                                  {"TOPRUN_SLOTS", "4(x2),2,1"},
                                                  {"SLURM_STEP_NODELIST", "n[1-2]"},
                                                  {"SLURM_STEP_NUM_TASKS", "2"},
                                                  {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                                  {"SLURM_NODEID", "1"}}),
                            nnodes(2));
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_TRUE(found->started_by_toprun);
  ASSERT_EQ(found->nodes.size(), 2u);
  EXPECT_EQ(found->nodes[0].slots, 4);
  EXPECT_EQ(found->nodes[1].slots, 2);
}

TEST(Slurm, CountsOnlyTasksThatTheUserRequested) {
  struct Case {
    const char* what;
    Changes changes;
    std::optional<int> slots;
  };
  for (const auto& [what, changes, slots] : std::vector<Case>{
           {"--ntasks-per-node=4", {}, 4},
           {"--ntasks=8", {{"SLURM_NTASKS_PER_NODE", "-"}, {"SLURM_TASKS_PER_NODE", "2(x4)"}}, 2},
           {"not requested: Slurm's own guess",
            {{"SLURM_NTASKS_PER_NODE", "-"}, {"SLURM_NTASKS", "-"}, {"SLURM_NPROCS", "-"}},
            std::nullopt},
           {"--ntasks-per-node=1: one agent per node",
            {{"SLURM_NTASKS_PER_NODE", "1"}, {"SLURM_TASKS_PER_NODE", "1(x4)"}},
            std::nullopt},
           {"--ntasks-per-node alone", {{"SLURM_TASKS_PER_NODE", "-"}}, 4},
       }) {
    const auto found = detect(with(batch, changes), nothing());
    ASSERT_TRUE(found) << what << ": " << found.error().line();
    ASSERT_EQ(found->nodes.size(), 4u) << what;
    for (const Node& node : found->nodes) EXPECT_EQ(node.slots, slots) << what;
  }
}

TEST(Slurm, SaysThatASingleRunOnTheLoginNodeIsOne) {
  const auto outside = detect(salloc_shell, nnodes(1));
  ASSERT_TRUE(outside);
  ASSERT_EQ(outside->notes.size(), 1u);
  EXPECT_EQ(
      outside->notes[0],
      "--nnodes runs the ranks on this host (here), which is not a node of the Slurm job; for one "
      "of its nodes type: srun -N1 -n1 toprun …");
  EXPECT_TRUE(detect(batch, nnodes(1))->notes.empty());
}

TEST(SlurmPort, StaysBelowTheEnd) {
  EXPECT_EQ(slurm_port(1, 0), 61007);
  EXPECT_EQ(slurm_port(648, 0), 61000);
  EXPECT_EQ(slurm_port(647, 6), 65535);
  EXPECT_EQ(slurm_port(4'294'967'295, 4'294'967'289),
            61000 + (4'294'967'295 * 7 + 4'294'967'289) % 4536);
}

TEST(Slurm, KnowsWhenAJobHasOutlivedItsBatchScript) {
  for (const auto& [record, expected] : std::vector<std::pair<const char*, BatchScript>>{
           {"JobId=1 JobState=RUNNING BatchFlag=1 NodeList=n[0-2] BatchHost=n0",
            BatchScript::alive},
           {"JobId=1 JobState=RUNNING BatchFlag=1 NodeList=n[1-2] BatchHost=n0", BatchScript::lost},
           {"JobId=1 JobState=RUNNING BatchFlag=1 NodeList=(null) BatchHost=n0",
            BatchScript::alive},
           {"JobId=1 JobState=RUNNING BatchFlag=0 NodeList=n[1-2] BatchHost=n0", BatchScript::none},
           {"JobId=1 JobState=PENDING BatchFlag=1 NodeList= NumNodes=2", BatchScript::none},
           {"", BatchScript::none}}) {
    EXPECT_EQ(batch_script_in(record), expected) << record;
  }
}

TEST(Slurm, TellsWhyItStoppedAJob) {
  using Reason = Stop::Reason;
  struct Case {
    const char* record;  // what 22.05 and 26.05 show while the tasks have their grace
    int restarts;
    std::optional<std::pair<Reason, std::string>> expected;
  };
  const Case cases[] = {
      {"JobId=1 JobState=RUNNING Requeue=1 Restarts=0 PreemptTime=2026-11-21T17:22:36", 0,
       std::pair(Reason::preemption, "Slurm preempted the job at 2026-11-21T17:22:36")},
      {"JobId=3 JobState=COMPLETING Reason=None Requeue=1 Restarts=1", 0,
       std::pair(Reason::requeue, "Slurm requeued the job")},
      {"JobId=3 JobState=COMPLETING Reason=None Requeue=1 Restarts=1 PreemptTime=None", 1, {}},
      {"JobId=4 JobState=COMPLETING Requeue=1 Restarts=0 PreemptTime=None", 0, {}},
      {"JobId=18 JobState=COMPLETING Reason=TimeLimit TimeLimit=00:01:00 PreemptTime=None", 0,
       std::pair(Reason::time_limit, "the job reached its time limit of 1:00 (--time)")},
      {"JobId=18 JobState=TIMEOUT Reason=None TimeLimit=1-00:00:00", 0,
       std::pair(Reason::time_limit, "the job reached its time limit of 1-00:00:00 (--time)")},
      {"", 0, {}},
  };
  for (const Case& one : cases) {
    const auto stop = stop_in(one.record, one.restarts);
    ASSERT_EQ(stop.has_value(), one.expected.has_value()) << one.record;
    if (!stop) continue;
    EXPECT_EQ(stop->reason, one.expected->first) << one.record;
    EXPECT_EQ(stop->words, one.expected->second);
  }
}

TEST(Slurm, KnowsItsCgroups) {
  EXPECT_TRUE(is_tracked_by_cgroup("9:name=systemd:/\n6:freezer:/slurm_n0/uid_0/job_22/step_0\n"));
  EXPECT_TRUE(is_tracked_by_cgroup("0::/system.slice/slurmstepd.scope/job_3/step_0/user/task_0\n"));
  for (const char* cgroups :
       {"", "0::/\n", "6:freezer:/\n", "4:memory:/slurm/uid_0/job_22/step_0\n", "x\n"}) {
    EXPECT_FALSE(is_tracked_by_cgroup(cgroups)) << cgroups;
  }
}

TEST(Slurm, PutsBackOnlyWhatItPreempted) {
  constexpr const char* preempted =
      "JobId=1 JobState=RUNNING Requeue=1 Restarts={} BatchFlag=1 PreemptTime=2026-11-21T17:22:36";
  EXPECT_TRUE(awaits_requeue(fmt::format(fmt::runtime(preempted), 0), 0));
  EXPECT_TRUE(awaits_requeue(fmt::format(fmt::runtime(preempted), 2), 2));
  for (const char* record :
       {"JobId=1 JobState=RUNNING Requeue=0 Restarts=0 BatchFlag=1 PreemptTime=2026-11-21T17:22:36",
        "JobId=1 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=0 PreemptTime=2026-11-21T17:22:36",
        "JobId=1 JobState=RUNNING Requeue=1 Restarts=1 BatchFlag=1 PreemptTime=2026-11-21T17:22:36",
        "JobId=1 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 PreemptTime=None",
        "JobId=1 JobState=PENDING Requeue=1 Restarts=0 BatchFlag=1 PreemptTime=2026-11-21T17:22:36",
        ""}) {
    EXPECT_FALSE(awaits_requeue(record, 0)) << record;
  }
}

TEST(Slurm, CountsNodesFromComponentToComponent) {
  Environment task = het_batch;
  for (const auto& [name, value] : {std::pair("SLURM_JOB_NODELIST", "n[0-2]"),
                                    {"SLURM_STEP_ID", "0"},
                                    {"SLURM_STEP_NODELIST", "n[0-2]"},
                                    {"SLURM_STEP_TASKS_PER_NODE", "1(x2),2"},
                                    {"SLURM_STEP_NUM_TASKS", "4"},
                                    {"SLURM_NODEID", "0"},
                                    {"SLURM_PROCID", "1"},
                                    {"SLURM_LOCALID", "1"}}) {
    task.set(name, value);
  }
  const auto place = detect(task, nothing());
  ASSERT_TRUE(place) << place.error().line();
  EXPECT_EQ(place->stance, Stance::in_place);
  EXPECT_EQ(node_list_text(place->nodes), "n2=2,n0=1,n1=1");
  EXPECT_EQ(place->my_node, 0);
}

TEST(Slurm, StartsAgentsOnAllComponents) {
  const auto place = detect(het_batch, nothing());
  ASSERT_TRUE(place) << place.error().line();
  EXPECT_EQ(place->stance, Stance::starter);
  EXPECT_EQ(node_list_text(place->nodes), "n2=2,n0=1,n1=1");
  const auto command = agent_command(het_batch, *place, {"/opt/toprun", {"x.py"}});
  ASSERT_TRUE(command) << command.error().line();
  const std::string common = "--kill-on-bad-exit=0 --wait=0 --mpi=none --export=ALL ";
  EXPECT_EQ(join(command->argv, " "),
            "srun --het-group=0 --overlap -N 1 -n 1 --ntasks-per-node=1 " + common +
                ": --het-group=1 --overlap -N 2 -n 2 --ntasks-per-node=1 --input=none " + common +
                "/opt/toprun x.py");
  EXPECT_EQ(command->environment.get("TOPRUN_SLOTS"), "2,1(x2)");
  EXPECT_TRUE(command->secret_by_variable);
}

}  // namespace
}  // namespace toprun::engines
