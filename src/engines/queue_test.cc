#include "engines/queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engines/slurm/words.h"

namespace toprun::engines {
namespace {

TEST(Queue, ReadsJobIds) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"17", "17 "},
           {"12_3", "12 3"},
           {"12_[4-9,11%2]", "12 [4-9,11%2]"},
           {"17+1", "17 "},
           {"",
            "job id '': it is empty; give an id from squeue (17, or 12_3 for "
            "a task of an array), "},
           {"train-x7", " "},
           {"Train", "not a job's number"},
           {"17.0", "this is the id of a step"},
           {"12_3.batch", "this is the id of a step"},
           {"train.py", "not a job's number"},
           {".", "not a job's number"},
           {"report.json", "it looks like the path of a file, not like the id of a job"},
           {"logs/17/report.json", "it looks like the path of a file"},
           {"job/foo",
            "job id job/foo: toprun takes the job's name alone, without its kind; write foo"},
           {"PyTorchJobs.kubeflow.org/foo-1", "; write foo-1"},
           {"jobs/17/report.json", "it looks like the path of a file"},
           {"17_", "no number follows"},
           {"17_x", "no number follows"},
           {"17_[]", "no number follows"},
           {"17_[1;rm]", "no number follows"},
           {"-1", "not a job's number"},
           {"17 --x", "not a job's number"},
           {"99999999999999999999999", "not a job's number"},
       }) {
    const auto id = parse_job_id(text);
    const std::string said = id ? id->number + " " + id->task : id.error().line();
    EXPECT_NE(said.find(expected), std::string::npos) << text << ": " << said;
    EXPECT_TRUE(id || id.error()->exit_code == exit_usage);
  }
}

TEST(Queue, AJobStandsForAnExitCode) {
  struct Case {
    JobState state;
    std::optional<int> exit_code, signal, expected;
  };
  for (const auto& [state, exit_code, signal, expected] : std::vector<Case>{
           {JobState::running, 0, {}, {}},
           {JobState::completed, 0, {}, 0},
           {JobState::failed, 3, {}, 3},
           {JobState::failed, 0, 9, 137},
           {JobState::failed, 0, {}, 1},
           {JobState::failed, {}, {}, 1},
           {JobState::cancelled, 0, 15, 143},
           {JobState::cancelled, 7, {}, 7},
           {JobState::cancelled, {}, {}, 143},
       }) {
    Job job;
    job.state = state;
    job.exit_code = exit_code;
    job.signal = signal;
    EXPECT_EQ(exit_code_of(job), expected);
  }
}

TEST(Queue, TheTimeOutCanBeChanged) {
  EXPECT_EQ(engine_timeout_of({}), std::chrono::milliseconds(30'000));
  EXPECT_EQ(engine_timeout_of({{"TOPRUN_ENGINE_TIMEOUT", "0.5"}}), std::chrono::milliseconds(501));
  for (const char* text : {"0", "-1", "x", "1e9", "nan"}) {
    EXPECT_FALSE(engine_timeout_of({{"TOPRUN_ENGINE_TIMEOUT", text}})) << text;
  }
}

TEST(Queue, SaysWhatWasLookedFor) {
  const auto queue = find_queue({{"PATH", "/nowhere"}});
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().line(),
            "found neither Slurm nor Run:AI nor Kubernetes: squeue, scontrol, runai and kubectl "
            "are not in PATH; log in to a node from which jobs are submitted, or load the site's "
            "module (often `module load slurm`)");
}

TEST(Queue, TheEngineThatIsNamedIsNotReplacedByAnother) {
  const std::pair<const char*, const char*> rows[] = {
      {"runai", "runai is"}, {"kubernetes", "kubectl is"}, {"slurm", "squeue and scontrol are"}};
  for (const auto& [on, programs] : rows) {
    const auto queue = find_queue({{"PATH", "/nowhere"}, {"TOPRUN_ON", on}});
    ASSERT_FALSE(queue);
    EXPECT_EQ(
        queue.error().line(),
        fmt::format("engine {}: {} not in PATH; load the site's module, or name another engine "
                    "with --on or TOPRUN_ON",
                    on, programs));
  }
}

TEST(Queue, AnUnknownEngineIsRefused) {
  const std::pair<const char*, const char*> rows[] = {
      {"foo", "give one of them, or unset the variable"}, {"slrum", "did you mean slurm?"}};
  for (const auto& [on, fix] : rows) {
    const auto queue = find_queue({{"TOPRUN_ON", on}});
    ASSERT_FALSE(queue);
    EXPECT_EQ(queue.error().line(),
              fmt::format("TOPRUN_ON={}: toprun knows the engines slurm, runai and kubernetes; {}",
                          on, fix));
  }
}

TEST(SlurmWords, KnowsStatesByWordAndCode) {
  for (const auto& [text, code] : std::vector<std::pair<std::string, std::string>>{
           {"PENDING", "PD"},
           {"R", "R"},
           {"CANCELLED by 1000", "CA"},
           {"COMPLETING", "CG"},
           {"OUT_OF_MEMORY", "OOM"},
       }) {
    const slurm::State* const state = slurm::find_state(text);
    ASSERT_NE(state, nullptr) << text;
    EXPECT_EQ(state->code, code) << text;
  }
  EXPECT_EQ(slurm::find_state("NEW_STATE"), nullptr);
  EXPECT_EQ(slurm::find_state(""), nullptr);
}

TEST(SlurmWords, TellsReasonsApartThatBeginAlike) {
  for (const auto& [reason, words] : std::vector<std::pair<std::string, std::string>>{
           {"Resources", "are in use; it is next"},
           {"Dependency", "has not ended yet"},
           {"DependencyNeverSatisfied", "never start"},
           {"Reservation", "has not begun"},
           {"ReservationDeleted", "was deleted"},
           {"ReqNodeNotAvail, UnavailableNodes:n[0-3]", "down, drained or reserved"},
           {"QOSMaxJobsPerUserLimit", "as many jobs as the QOS"},
           {"QOSGrpSomethingNew", "all jobs of the QOS"},
           {"AssocGrpGRES", "as many GPUs as it may"},
           {"AssocGrpNewLimit", "reached a limit"},
           {"BeginTime", "--begin"},
           {"JobHeldUser", "scontrol release"},
           {"PartitionTimeLimit", "over the partition's"},
       }) {
    EXPECT_NE(slurm::reason_words(reason, false).find(words), std::string_view::npos) << reason;
  }
  EXPECT_EQ(slurm::reason_words("SomethingNew", false), "");
}

}  // namespace
}  // namespace toprun::engines
