#include "engines/kubernetes/kubernetes_jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "engines/kubernetes/job_pods.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr const Kind& pytorchjobs = kinds[0];

std::string condition(std::string_view type, std::string_view status = "True",
                      std::string_view reason = "", std::string_view message = "") {
  return fmt::format(
      R"({{"type":"{}","status":"{}","reason":"{}","message":"{}","lastTransitionTime":"2026-11-24T17:00:05Z"}})",
      type, status, reason, message);
}

std::string object(std::string_view conditions) {
  return fmt::format(R"({{"kind":"PyTorchJob",
    "metadata":{{"name":"train","creationTimestamp":"2026-11-24T17:00:00Z",
                 "labels":{{"toprun.io/user":"ada"}}}},
    "spec":{{"runPolicy":{{"activeDeadlineSeconds":60}},
             "pytorchReplicaSpecs":{{"Master":{{"replicas":1}},"Worker":{{"replicas":3}}}}}},
    "status":{{"startTime":"2026-11-24T17:00:01Z","conditions":[{}]}}}})",
                     conditions);
}

Job job_with(std::string_view conditions) {
  const auto jobs = jobs_in(json_in(object(conditions)), pytorchjobs);
  EXPECT_EQ(jobs.size(), 1u);
  return jobs.empty() ? Job{} : jobs.front();
}

std::vector<PodFacts> pods(std::string_view items) {
  return pods_in(json_in(fmt::format(R"({{"kind":"List","items":[{}]}})", items)),
                 pytorchjobs.pods_label);
}

std::string said(const Job& job) {
  return fmt::format("{}: {}", job.reason, job.reason_words);
}

std::string dead_pod(std::string_view name, int code, std::string_view at) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"Failed","containerStatuses":[
          {{"state":{{"terminated":{{"exitCode":{},"finishedAt":"{}"}}}}}}]}}}})",
      name, code, at);
}

TEST(KubernetesJobs, AnObjectIsAJob) {
  const Job job = job_with(condition("Created") + "," + condition("Running"));
  EXPECT_EQ(job.id, "train");
  EXPECT_EQ(job.number, "pytorchjobs.kubeflow.org/train");
  EXPECT_EQ(job.user, "ada");
  EXPECT_EQ(job.nodes, 4);
  EXPECT_EQ(job.limit, std::chrono::seconds(60));
  EXPECT_EQ(job.state, JobState::running);
  EXPECT_EQ(*job.started - *job.submitted, std::chrono::seconds(1));
}

TEST(KubernetesJobs, TheLastConditionThatHoldsIsTheState) {
  EXPECT_EQ(job_with("").state, JobState::pending);
  EXPECT_EQ(job_with(condition("Created")).state, JobState::pending);
  EXPECT_EQ(job_with(condition("Running", "False") + "," + condition("Restarting")).state,
            JobState::starting);
  EXPECT_EQ(job_with(condition("Running", "False") + "," + condition("Succeeded")).state,
            JobState::completed);
  EXPECT_EQ(job_with(condition("Suspended")).state, JobState::suspended);
  EXPECT_EQ(state_words("Succeeded"), "ended well");
  EXPECT_EQ(state_words("Pending"), "");
  const Job late = job_with(condition("Failed", "True", "DeadlineExceeded", "too long"));
  EXPECT_EQ(late.state, JobState::failed);
  EXPECT_EQ(late.end, JobEnd::time_limit);
  EXPECT_EQ(late.reason, "too long");
  EXPECT_EQ(*late.ended - *late.submitted, std::chrono::seconds(5));
}

TEST(KubernetesJobs, AJobSetThatATrainJobMadeIsNotAnotherJob) {
  const auto jobs =
      jobs_in(json_in(
                  R"({"items":[{"metadata":{"name":"a","ownerReferences":[{"kind":"TrainJob"}]}},
                   {"metadata":{"name":"b"},"spec":{"replicatedJobs":[
                     {"template":{"spec":{"completions":2}}}]}}]})"),
              kinds[2]);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs.front().id, "b");
  EXPECT_EQ(jobs.front().nodes, 2);
}

TEST(KubernetesJobs, TheFirstPodThatFailedGivesTheCode) {
  Job job = job_with(condition("Failed"));
  add_pods(job, pods(dead_pod("a", 143, "2026-11-24T17:00:09Z") + "," +
                     dead_pod("b", 3, "2026-11-24T17:00:08Z")));
  EXPECT_EQ(job.exit_code, 3);
  EXPECT_EQ(exit_code_of(job), 3);
}

TEST(KubernetesJobs, ATimeLimitIsKnownByTheTimesWhereNoReasonTellsIt) {
  const auto after = [](int seconds) {
    return fmt::format(
        R"({{"metadata":{{"name":"a","creationTimestamp":"2026-11-24T17:00:00Z"}},
            "spec":{{"replicatedJobs":[{{"template":{{"spec":{{"activeDeadlineSeconds":60}}}}}}]}},
            "status":{{"conditions":[{{"type":"Failed","status":"True",
                      "lastTransitionTime":"2026-11-24T17:0{}:{:02}Z"}}]}}}})",
        seconds / 60, seconds % 60);
  };
  for (const auto& [seconds, items, end] :
       {std::tuple(61, std::string(), JobEnd::time_limit),
        std::tuple(59, std::string(), JobEnd::other),
        std::tuple(61, dead_pod("a", 3, "2026-11-24T17:00:30Z"), JobEnd::other)}) {
    auto jobs = jobs_in(json_in(after(seconds)), kinds[2]);
    ASSERT_EQ(jobs.size(), 1u);
    add_pods(jobs.front(), pods(items));
    EXPECT_EQ(jobs.front().end, end) << seconds;
  }
}

TEST(KubernetesJobs, AContainerThatCannotBeginSaysWhy) {
  Job job = job_with(condition("Failed"));
  add_pods(job, pods(R"({"metadata":{"name":"a"},"status":{"phase":"Failed",
      "containerStatuses":[{"state":{"terminated":{"exitCode":128,"reason":"StartError",
                                                    "message":"no toprun in $PATH"}}}]}})"));
  EXPECT_EQ(job.exit_code, 128);
  EXPECT_EQ(job.cause, "a: StartError no toprun in $PATH");
}

TEST(KubernetesJobs, AJobBeginsOnceAllItsPodsHave) {
  const std::string_view runs =
      R"({"metadata":{"name":"a","uid":"7"},"status":{"phase":"Running","containerStatuses":[
          {"restartCount":2,"state":{"running":{}}}]}})";
  const std::string_view comes =
      R"({"metadata":{"name":"b"},"status":{"phase":"Pending","containerStatuses":[
          {"state":{"waiting":{"reason":"ContainerCreating"}}}]}})";
  Job job = job_with(condition("Running"));
  job.nodes = 2;
  Job elastic = job;
  elastic.least_nodes = 1;
  add_pods(job, pods(fmt::format("{},{}", runs, comes)));
  EXPECT_EQ(job.state, JobState::starting);
  EXPECT_EQ(job.reason, "Starting");
  EXPECT_EQ(job.reason_words, "1 of 2 pods run; ContainerCreating: b");
  ASSERT_EQ(job.printers.size(), 1u);
  EXPECT_EQ(job.printers.front(), (Printer{"a", 2, "7"}));
  add_pods(elastic, pods(fmt::format("{},{}", runs, comes)));
  EXPECT_EQ(elastic.state, JobState::running);
}

TEST(KubernetesJobs, AnEvictedPodIsAPreemption) {
  Job job = job_with(condition("Failed"));
  add_pods(job, pods(R"({"metadata":{"name":"a"},"status":{"phase":"Failed",
                                     "reason":"Evicted","message":"low on memory"}})"));
  EXPECT_EQ(job.end, JobEnd::preemption);
  EXPECT_EQ(job.reason, "a: Evicted low on memory");
}

TEST(KubernetesJobs, WhatAProgramSaysOfEvictionsIsNone) {
  Job job = job_with(condition("Failed"));
  add_pods(job, pods(R"({"metadata":{"name":"a"},"status":{"phase":"Failed",
      "containerStatuses":[{"state":{"terminated":{"exitCode":1,"reason":"Error",
          "message":"cache: Evicted 3 entries"}}}]}})"));
  EXPECT_EQ(job.reason, "a: Error cache: Evicted 3 entries");
  EXPECT_NE(job.end, JobEnd::preemption);
}

TEST(KubernetesJobs, WhyPodsWaitIsSaid) {
  Job job = job_with(condition("Created"));
  add_pods(job, pods(R"({"metadata":{"name":"a"},"status":{"phase":"Pending",
      "conditions":[{"type":"PodScheduled","reason":"Unschedulable",
                     "message":"0/4 nodes are available"}]}})"));
  EXPECT_EQ(said(job), "Unschedulable: 0/4 nodes are available (a)");
  job = job_with(condition("Running"));
  add_pods(job, pods(R"({"metadata":{"name":"b"},"status":{"phase":"Pending",
      "containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff",
                                                 "message":"no such image"}}}]}})"));
  EXPECT_EQ(job.state, JobState::pending);
  EXPECT_EQ(said(job), "ImagePullBackOff: no such image (b)");
}

TEST(KubernetesJobs, PodsThatRunMakeAJobRun) {
  Job job = job_with("");
  add_pods(job,
           pods(R"({"metadata":{"name":"a"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}},
                         {"metadata":{"name":"b"},"spec":{"nodeName":"n0"},"status":{"phase":"Pending"}})"));
  EXPECT_EQ(job.state, JobState::starting);
  EXPECT_EQ(job.node_list, "n[0-1]");
}

TEST(KubernetesJobs, ATrainJobTellsItsProgress) {
  const auto reported = [](std::string_view status) {
    const auto jobs =
        jobs_in(json_in(fmt::format(
                    R"({{"metadata":{{"name":"a"}},"status":{{"trainerStatus":{}}}}})", status)),
                kinds[1]);
    return jobs.empty() ? std::nullopt : jobs.front().progress;
  };
  const auto all = reported(R"({"progressPercentage":42,"estimatedRemainingSeconds":3780,
      "metrics":[{"name":"loss","value":"0.31"}],"lastUpdatedTime":"1970-01-01T00:01:00Z"})");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->percent, 42);
  EXPECT_EQ(all->remaining, std::chrono::minutes(63));
  EXPECT_EQ(all->reported, WallTime(std::chrono::seconds(60)));
  ASSERT_EQ(all->metrics.size(), 1u);
  EXPECT_EQ(all->metrics[0].first + "=" + all->metrics[0].second, "loss=0.31");
  for (const char* nothing : {"{}", R"({"progressPercentage":"x","metrics":7})"}) {
    const auto some = reported(nothing);
    ASSERT_TRUE(some) << nothing;
    EXPECT_FALSE(some->percent || some->remaining || some->reported || !some->metrics.empty());
  }
  EXPECT_FALSE(reported("null"));
}

TEST(KubernetesJobs, NonsenseIsUnset) {
  for (const char* text :
       {"{}", R"({"items":[1,null,[]]})", R"({"metadata":7,"status":{"conditions":[7]}})",
        R"({"spec":{"pytorchReplicaSpecs":[{"replicas":"x"}],"replicatedJobs":7}})"}) {
    for (const Job& one : jobs_in(json_in(text), pytorchjobs)) {
      EXPECT_EQ(one.name, "") << text;
      EXPECT_EQ(one.state, JobState::pending) << text;
    }
    Job job;
    add_pods(job, pods_in(json_in(text), "label"));
    EXPECT_EQ(job.node_list, "") << text;
  }
}

TEST(KubernetesJobs, EqualReasonsAreOne) {
  const auto waits = [](std::string_view name, std::string_view why) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"Pending","conditions":[
        {{"type":"PodScheduled","reason":"Unschedulable","message":"{}"}}]}}}})",
                       name, why);
  };
  Job job = job_with(condition("Created"));
  add_pods(job, pods(waits("a-1", "no room") + "," + waits("a-0", "no room") + "," +
                     waits("a-2", "no image")));
  EXPECT_EQ(said(job), "Unschedulable: no room (a-[0-1]); Unschedulable: no image (a-2)");
  Job many = job_with("");
  std::string all;
  for (int i = 0; i < 5; ++i)
    all += (i ? "," : "") + waits(fmt::format("p{}", i), fmt::format("{}", i));
  add_pods(many, pods(all));
  EXPECT_TRUE(many.reason_words.ends_with("(p2); and 2 other reasons")) << many.reason_words;
}

TEST(KubernetesJobs, APendingJobAlwaysHasAReason) {
  Job none = job_with(condition("Created"));
  add_pods(none, {});
  EXPECT_EQ(said(none), "NoPods: none of its 4 pods has been made yet");
  EXPECT_FALSE(none.started);
  Job made = job_with("");
  add_pods(made, pods(R"({"metadata":{"name":"a"},"status":{"phase":"Pending","containerStatuses":[
      {"state":{"waiting":{"reason":"ContainerCreating"}}}]}})"));
  EXPECT_EQ(said(made), "ContainerCreating: a");
}

TEST(KubernetesJobs, OneThatIsToBeSuspendedIsNotPending) {
  const auto state = [](std::string_view spec, const Kind& kind) {
    return jobs_in(json_in(fmt::format(R"({{"metadata":{{"name":"a"}},"spec":{}}})", spec)), kind)
        .front()
        .state;
  };
  EXPECT_EQ(state(R"({"runPolicy":{"suspend":true}})", pytorchjobs), JobState::suspended);
  EXPECT_EQ(state(R"({"suspend":true})", kinds[2]), JobState::suspended);
  EXPECT_EQ(state(R"({"suspend":false})", kinds[1]), JobState::pending);
}

constexpr std::string_view runs = R"({"phase":"Running","podIP":"10.1.0.5"})";

// A pod of Kubeflow's with a sidecar.
std::string pod(std::string_view name, std::string_view role, int number, std::string_view status,
                std::string_view metadata = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}","labels":{{
        "training.kubeflow.org/replica-type":"{}","training.kubeflow.org/replica-index":"{}"}}{}}},
      "spec":{{"containers":[{{"name":"sidecar"}},{{"name":"pytorch","command":["sleep","1d"]}}]}},
      "status":{}}})",
                     name, role, number, metadata, status);
}

TEST(KubernetesJobs, PodsByTheirNumber) {
  const auto all = pods_by_number(pods(pod("a-worker-10", "worker", 10, runs) + "," +
                                       pod("a-worker-2", "worker", 2, runs) + "," +
                                       pod("a-master-0", "master", 0, runs)));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "a-master-0");
  EXPECT_EQ(all[1].name, "a-worker-2");
  EXPECT_EQ(all[2].name, "a-worker-10");
  EXPECT_EQ(all[0].container, "pytorch");
  EXPECT_EQ(all[0].address, "10.1.0.5");
  EXPECT_EQ(all[0].trouble, "");
  EXPECT_TRUE(all[0].sleeps);
}

TEST(KubernetesJobs, PodsOfAnIndexedJob) {
  const auto one = [](int number) {
    return fmt::format(R"({{"metadata":{{"name":"a-node-0-{0}-x{0}","annotations":{{
        "batch.kubernetes.io/job-completion-index":"{0}"}}}},
      "spec":{{"containers":[{{"name":"node","command":["toprun","sleep.py"]}}]}},"status":{1}}})",
                       number, runs);
  };
  const auto all = pods_by_number(pods(one(10) + "," + one(9)));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a-node-0-9-x9");
  EXPECT_FALSE(all[0].sleeps);
}

TEST(KubernetesJobs, PodsInWhichNothingCanBeExecuted) {
  struct Case {
    std::string_view status, metadata, trouble;
  };
  constexpr Case cases[] = {
      {R"({"phase":"Pending"})", "", "Pending"},
      {R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
          "reason":"Unschedulable","message":"0/3 nodes"}]})",
       "", "Pending: Unschedulable: 0/3 nodes"},
      {R"({"phase":"Failed"})", "", "Failed"},
      {R"({"phase":"Running","containerStatuses":[{"name":"pytorch","state":{"waiting":
          {"reason":"CrashLoopBackOff","message":"back-off"}}}]})",
       "", "CrashLoopBackOff: back-off"},
      {R"({"phase":"Running","containerStatuses":[{"name":"pytorch","state":{"terminated":{}}}]})",
       "", "its container does not run"},
      {R"({"phase":"Running","containerStatuses":[{"name":"sidecar","state":{"terminated":{}}}]})",
       "", ""},
      {runs, R"(,"deletionTimestamp":"2026-11-24T17:00:00Z")", "it is being deleted"},
  };
  for (const auto& [status, metadata, trouble] : cases) {
    const auto all = pods_by_number(pods(pod("a-master-0", "master", 0, status, metadata)));
    ASSERT_EQ(all.size(), 1u) << status;
    EXPECT_EQ(all.front().trouble, trouble) << status;
  }
}

TEST(KubernetesJobs, APodThatWasStartedAgainIsTheOneThatLives) {
  const std::string dead = pod("a-1-x", "worker", 1, R"({"phase":"Failed"})");
  const std::string alive = pod("a-1-y", "worker", 1, runs);
  for (const std::string& items : {dead + "," + alive, alive + "," + dead}) {
    const auto all = pods_by_number(pods(items));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.front().name, "a-1-y");
  }
}

TEST(KubernetesJobs, TheNodesOfAReplacedPodAreNotTheJobs) {
  const auto on = [](std::string_view name, std::string_view node, std::string_view phase,
                     std::string_view made) {
    return fmt::format(R"({{"metadata":{{"name":"{}","creationTimestamp":"{}","labels":{{
        "batch.kubernetes.io/job-completion-index":"1"}}}},
        "spec":{{"nodeName":"{}"}},"status":{{"phase":"{}"}}}})",
                       name, made, node, phase);
  };
  const std::string lost = on("a", "n1", "Failed", "2026-11-24T17:00:00Z");
  const std::string next = on("b", "n2", "Running", "2026-11-24T17:00:01Z");
  for (const std::string& items : {lost + "," + next, next + "," + lost}) {
    Job job = job_with(condition("Running"));
    add_pods(job, pods(items));
    EXPECT_EQ(job.node_list, "n2");
  }
}

TEST(KubernetesJobs, AFailureThatWasMendedIsNotTheEnd) {
  const auto ended = [](std::string_view name, int number, int code, std::string_view made) {
    return fmt::format(R"({{"metadata":{{"name":"{}","creationTimestamp":"{}","labels":{{
        "batch.kubernetes.io/job-completion-index":"{}"}}}},"status":{{"phase":"{}",
        "containerStatuses":[{{"state":{{"terminated":{{"exitCode":{},"finishedAt":"{}"}}}}}}]}}}})",
                       name, made, number, code == 0 ? "Succeeded" : "Failed", code, made);
  };
  Job job = job_with(condition("Failed"));
  add_pods(job, pods(ended("a", 1, 137, "2026-11-24T17:00:00Z") + "," +
                     ended("b", 1, 0, "2026-11-24T17:00:01Z") + "," +
                     ended("c", 0, 3, "2026-11-24T17:00:02Z")));
  EXPECT_EQ(job.exit_code, 3);
}

TEST(KubernetesJobs, PodsOfSeveralJobsOfAJobSet) {
  const auto one = [](std::string_view part, int job, int number, std::string_view phase) {
    return fmt::format(R"({{"metadata":{{"name":"{0}-{1}-{2}","labels":{{
        "jobset.sigs.k8s.io/replicatedjob-name":"{0}","jobset.sigs.k8s.io/job-index":"{1}",
        "batch.kubernetes.io/job-completion-index":"{2}"}}}},"status":{{"phase":"{3}"}}}})",
                       part, job, number, phase);
  };
  const auto names = [](const std::vector<JobPod>& all) {
    std::string text;
    for (const JobPod& found : all) text += found.name + " ";
    return text;
  };
  EXPECT_EQ(names(pods_by_number(pods(one("w", 1, 0, "Running") + "," + one("w", 0, 1, "Running") +
                                      "," + one("w", 0, 0, "Running")))),
            "w-0-0 w-0-1 w-1-0 ");
  EXPECT_EQ(names(pods_by_number(pods(one("dataset-initializer", 0, 0, "Succeeded") + "," +
                                      one("node", 0, 0, "Running")))),
            "node-0-0 ");
}

TEST(KubernetesJobs, PodsOfNonsense) {
  for (const char* items : {"", "1", "{}", R"({"metadata":[]})", R"({"metadata":{"name":7}})"}) {
    const auto all = pods_by_number(pods(items));
    EXPECT_TRUE(all.empty()) << items;
  }
}

TEST(KubernetesJobs, TheLastWarningSaysWhyPodsAreNotMade) {
  const auto event = [](std::string_view about, std::string_view type, std::string_view when,
                        std::string_view message) {
    return fmt::format(R"({{"type": "{}", "reason": "FailedCreate", "message": "{}",)"
                       R"("lastTimestamp": "{}", "involvedObject": {{"name": "{}"}}}})",
                       type, message, when, about);
  };
  const std::string events =
      fmt::format(R"({{"items": [{}, {}, {}, {}, 7]}})",
                  event("train-node-0", "Warning", "2026-11-24T10:00:02Z", "exceeded quota"),
                  event("train", "Warning", "2026-11-24T10:00:01Z", "old"),
                  event("train", "Normal", "2026-11-24T10:00:03Z", "created"),
                  event("training", "Warning", "2026-11-24T10:00:04Z", "another's"));
  const auto warnings = warnings_in(json_in(events));
  const Warning* const last = last_warning(warnings, "train", kinds[1]);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->reason + ": " + last->message, "FailedCreate: exceeded quota");
  EXPECT_EQ(last_warning(warnings, "tra", kinds[1]), nullptr);
  EXPECT_EQ(last_warning({}, "train", kinds[1]), nullptr);
}

TEST(KubernetesJobs, AWarningOfAnotherJobIsNotThisOnes) {
  for (const auto& [about, is_its_own] : std::vector<std::pair<std::string, std::array<bool, 3>>>{
           {"train", {true, true, true}},
           {"train-worker-0", {true, false, true}},
           {"train-master-12", {true, false, true}},
           {"train-node-0", {false, true, true}},
           {"train-node-0-1-x7k2p", {false, true, true}},
           {"train-dataset-initializer-0", {false, true, true}},
           {"train-2", {false, false, false}},
           {"train-2-worker-0", {false, false, false}},
           {"train-2-node-0", {false, false, false}},
           {"training-worker-0", {false, false, false}},
           {"train-x7k2p", {false, false, false}},
           {"train-worker-x", {false, false, false}}}) {
    const std::vector<Warning> warnings{{about, "", "FailedCreate", "no"}};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      EXPECT_EQ(last_warning(warnings, "train", kinds[i]) != nullptr, is_its_own[i])
          << about << " " << kinds[i].word;
    }
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
