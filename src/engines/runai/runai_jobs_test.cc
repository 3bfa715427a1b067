#include "engines/runai/runai_jobs.h"

#include <gtest/gtest.h>

namespace toprun::engines::runai {
namespace {

constexpr std::string_view job_table =
    R"(Showing jobs for project mlo
NAME    STATUS            AGE  NODE        IMAGE     TYPE     PROJECT  USER   GPUs Allocated (Requested)  PODs Running (Pending)  SERVICE URL(S)
train   RUNNING           3m   <multiple>  python:3  Pytorch  mlo      ada    32 (32)                     4 (0)
wait-1  ImagePullBackOff  1h               python:3  Pytorch  mlo      grace  0 (8)                       0 (1)
old     SUCCEEDED         2d               python:3  Pytorch  mlo      ada    - (8)                       0 (0)
)";

TEST(RunaiJobs, OfTheFirstProgramsTable) {
  const auto jobs = parse_table(job_table);
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 3u);
  EXPECT_EQ((*jobs)[0].id, "train");
  EXPECT_EQ((*jobs)[0].state, JobState::running);
  EXPECT_EQ((*jobs)[0].user, "ada");
  EXPECT_EQ((*jobs)[0].partition, "mlo");
  EXPECT_EQ((*jobs)[1].state, JobState::pending);
  EXPECT_EQ((*jobs)[1].reason, "ImagePullBackOff");
  EXPECT_EQ((*jobs)[1].user, "grace");
  EXPECT_EQ((*jobs)[2].state, JobState::completed);
}

TEST(RunaiJobs, OfTheSecondProgramsList) {
  const auto jobs = parse_list(R"({"workloads": [
      {"name": "train", "phase": "Running", "projectName": "mlo", "submittedBy": "ada@x.org",
       "createdAt": "2026-11-24T10:00:00.131Z"},
      {"name": "wait", "phase": "Pending", "phaseMessage": "not enough GPUs"},
      {"name": "new", "phase": "Dancing"}, 7]})");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 3u);
  EXPECT_EQ((*jobs)[0].user, "ada@x.org");
  EXPECT_TRUE((*jobs)[0].submitted);
  EXPECT_EQ((*jobs)[1].reason, "not enough GPUs");
  EXPECT_EQ((*jobs)[2].state, JobState::unknown);
  EXPECT_EQ((*jobs)[2].state_word, "Dancing");
}

TEST(RunaiJobs, OfDescriptions) {
  const auto second = parse_description(R"({"general": {"name": "train", "phase": "Completed",
      "createdAt": "2026-11-24T10:00:00Z", "updatedAt": "2026-11-24T11:00:00.5Z"},
      "podsInfo": {"pods": [{"name": "train-master-0", "nodeName": "n0"},
                            {"name": "train-worker-0", "nodeName": "n1"}]}})");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, JobState::completed);
  EXPECT_EQ(second->node_list, "n0,n1");
  EXPECT_EQ(second->nodes, 2);
  EXPECT_EQ(*second->ended - *second->submitted, std::chrono::milliseconds(3'600'500));

  const auto first = parse_description(R"({"name": "train", "status": "FAILED", "instances": [
      {"name": "train-master-0", "status": "FAILED", "node": "10.0.0.1", "chief": true}]})");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->state, JobState::failed);
  EXPECT_EQ(first->node_list, "10.0.0.1");
  EXPECT_EQ(exit_code_of(*first), 1);
}

TEST(RunaiJobs, TheLastWarningSaysWhyAJobWaits) {
  EXPECT_EQ(last_warning("NAME: train\nSTATUS: PENDING\n\nEvents: \nSOURCE  TYPE  AGE  MESSAGE\n"
                         "pod/train-master-0  Warning  9s  [FailedScheduling] old\n"
                         "podgroup/pg-train  Warning  5s  [Unschedulable] 0/4 nodes: no [gpu]\n"
                         "pod/train-master-0  Normal  5s  [Scheduled] to n0\n"),
            "[Unschedulable] 0/4 nodes: no [gpu]");
  EXPECT_EQ(last_warning("NAME: a  Warning  b\n"), "");
  EXPECT_EQ(last_warning(""), "");
}

TEST(RunaiJobs, PodsByTheirNumber) {
  const auto second = parse_pods(R"({"general": {"name": "a"}, "podsInfo": {"pods": [
      {"name": "a-worker-10"}, {"name": "a-worker-2"}, {"name": "a-master-0"}, {}, 7]}})");
  ASSERT_TRUE(second);
  ASSERT_EQ(second->size(), 3u);
  EXPECT_EQ((*second)[0].name, "a-master-0");
  EXPECT_EQ((*second)[1].name, "a-worker-2");
  EXPECT_EQ((*second)[2].trouble, "");
  const auto first = parse_pods(R"({"name": "a", "instances": [
      {"name": "a-worker-0", "status": "PENDING"}, {"name": "a-master-0", "status": "RUNNING"}]})");
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ((*first)[0].trouble, "");
  EXPECT_EQ((*first)[1].trouble, "PENDING");
  EXPECT_FALSE(parse_pods("Please log in\n"));
}

TEST(RunaiJobs, RefuseWhatIsOfAnotherForm) {
  for (const std::string_view text : {"", "Please log in\n", "[1]", "{\"a\":"}) {
    EXPECT_FALSE(parse_table(text)) << text;
    EXPECT_FALSE(parse_list(text)) << text;
    EXPECT_FALSE(parse_description(text)) << text;
  }
  EXPECT_EQ(parse_list("Please log in\n").error().line(),
            "cannot ask Run:AI: runai did not print JSON: Please log in\\n; check with runai list "
            "that it works");
  // Of wrong types nothing is taken.
  const auto odd = parse_description(R"({"general": 7, "podsInfo": [1], "name": {}})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->state, JobState::unknown);
}

}  // namespace
}  // namespace toprun::engines::runai
