#include "run/conductor/eviction.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "run/conductor/conductor_testing.h"

namespace toprun::run {
namespace {

model::WorkerExit failed(std::string exception, std::vector<std::string> output = {}) {
  model::WorkerExit exit;
  exit.exit_code = 1;
  exit.exception = std::move(exception);
  exit.last_output = std::move(output);
  return exit;
}

constexpr std::string_view ecc = "uncorrectable ECC error encountered";

TEST(Eviction, AnErrorThatOnlyABrokenMachineHasIsItsFault) {
  EXPECT_EQ(
      machine_fault(failed("torch.AcceleratorError: CUDA error: uncorrectable ECC error "
                           "encountered\nCUDA kernel errors might be asynchronously reported")),
      ecc);
  EXPECT_EQ(machine_fault(failed("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error "
                                 "802: system not yet initialized")),
            "system not yet initialized");
  auto aborted =
      failed("", {"terminate called after throwing an instance of 'c10::AcceleratorError'",
                  "  what():  CUDA error: uncorrectable ECC error encountered"});
  aborted.exit_code = 0;
  aborted.signal = SIGABRT;
  EXPECT_EQ(machine_fault(aborted), ecc);
}

TEST(Eviction, AnErrorOfTheProgramIsNotTheMachines) {
  for (const std::string text :
       {"ValueError: boom", "torch.OutOfMemoryError: CUDA out of memory",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: CUDA error: device-side assert triggered",
        "RuntimeError: No CUDA GPUs are available",
        "torch.distributed.DistBackendError: NCCL error: unhandled system error",
        "RuntimeError: the file system not yet initialized",
        "ValueError: the GPU is lost in the list"}) {
    EXPECT_EQ(machine_fault(failed(text)), std::nullopt) << text;
  }
}

TEST(Eviction, WhatALogSaysBesideAnExceptionDoesNotCount) {
  const std::string line = "CUDA error: uncorrectable ECC error encountered on the last run";
  EXPECT_EQ(machine_fault(failed("KeyError: 'x'", {line})), std::nullopt);
  EXPECT_EQ(machine_fault(failed("", {"notes on uncorrectable ECC error encountered"})),
            std::nullopt);
}

TEST(Eviction, ARankThatToprunStoppedOrThatEndedWellIsNoEvidence) {
  auto stopped = failed("CUDA error: uncorrectable ECC error encountered");
  stopped.ours = true;
  EXPECT_EQ(machine_fault(stopped), std::nullopt);
  auto fine = failed("CUDA error: uncorrectable ECC error encountered");
  fine.exit_code = 0;
  EXPECT_EQ(machine_fault(fine), std::nullopt);
}

// The attempt ends with a fault of the machine of node 1.
testing::Simple broken_machine(bool evicts) {
  Settings settings = testing::Simple::elastic(1, 2);
  settings.evicts = evicts;
  testing::Simple run(settings);
  for (const int node : {0, 1}) run.come(node);
  run.all_start(2);
  auto exit = failed("CUDA error: uncorrectable ECC error encountered");
  exit.host = "n1";
  exit.rank = 1;
  run.say(1, Shared<model::WorkerExit>(exit));
  for (const int node : {0, 1}) run.say(node, model::Gone{});
  return run;
}

TEST(Eviction, AnExcludedNodeIsToldToEndAndNoAgentOfItIsAdmittedAgain) {
  auto run = broken_machine(true);
  EXPECT_EQ(run.count_sent<model::Finish>(1), 1);
  EXPECT_EQ(run.coordinator.course().restarts, 1);
  model::Join join;
  join.agent = "another";
  join.host = "n1";
  const auto refused = run.coordinator.admit(join);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text,
            "n1 was excluded: rank 1 failed first, by a fault of this machine "
            "(uncorrectable ECC error encountered)");
  run.come_to("n2", 5);
  run.after(6s);
  EXPECT_EQ(run.arranges.back().members.size(), 2u);
}

// The agents a1 … are on these hosts; the attempt of the first `seats` ends with a fault of the
// machine of a1.
testing::Simple broken_beside(int seats, const std::vector<std::string>& hosts) {
  Settings settings = testing::Simple::elastic(seats, seats);
  settings.elastic = false;
  settings.evicts = true;
  testing::Simple run(settings);
  run.come(0);
  for (std::size_t i = 0; i < hosts.size(); ++i) run.come_to(hosts[i], static_cast<int>(i) + 1);
  run.all_start(seats);
  auto exit = failed("CUDA error: uncorrectable ECC error encountered");
  exit.rank = 1;
  run.say(1, Shared<model::WorkerExit>(exit));
  return run;
}

void all_gone(testing::Simple& run, const std::vector<int>& nodes) {
  for (const int node : nodes) run.say(node, model::Gone{});
}

bool says_that_it_stays(const testing::Simple& run) {
  return std::ranges::any_of(run.said, [](const std::string& text) {
    return text.starts_with("n1 stays, because no other node can take its place: ");
  });
}

TEST(Eviction, AnAgentOnTheSameMachineIsNotAnotherNode) {
  auto spare_beside_it = broken_beside(2, {"n1", "n1"});
  all_gone(spare_beside_it, {0, 1});
  EXPECT_TRUE(says_that_it_stays(spare_beside_it));

  auto both_leave = broken_beside(3, {"n1", "n1", "n2", "n3"});
  all_gone(both_leave, {0, 1, 2});
  EXPECT_EQ(both_leave.count_sent<model::Finish>(1), 1);
  EXPECT_EQ(both_leave.count_sent<model::Finish>(2), 1);
  EXPECT_FALSE(says_that_it_stays(both_leave));

  auto too_few_beside = broken_beside(3, {"n1", "n1", "n2"});
  all_gone(too_few_beside, {0, 1, 2});
  EXPECT_TRUE(says_that_it_stays(too_few_beside));

  auto at_the_root = broken_beside(2, {"n0", "n2"});
  all_gone(at_the_root, {0, 1});
  EXPECT_EQ(at_the_root.count_sent<model::Finish>(1), 0) << "the root's own machine";
}

TEST(Eviction, ASpareThatALostNodeNeedsIsNotCounted) {
  auto run = broken_beside(3, {"n1", "n2", "n3"});
  run.on(Left{testing::Simple::id(2), model::Loss{model::Loss::Kind::closed, "it died"}});
  all_gone(run, {0, 1});
  EXPECT_TRUE(says_that_it_stays(run));
  EXPECT_EQ(run.count_sent<model::Finish>(1), 0);
}

TEST(Eviction, TheExcludedNodeHearsWhy) {
  auto run = broken_beside(2, {"n1", "n2"});
  all_gone(run, {0, 1});
  const auto finish = std::ranges::find_if(run.sent, [](const Send& send) {
    return send.agent == "a1" && std::holds_alternative<model::Finish>(send.message);
  });
  ASSERT_NE(finish, run.sent.end());
  EXPECT_EQ(std::get<model::Finish>(finish->message).why,
            "n1 leaves the job: rank 1 failed first, by a fault of this machine (uncorrectable ECC "
            "error encountered)");
}

TEST(Eviction, NeverMeansNever) {
  auto run = broken_machine(false);
  EXPECT_EQ(run.count_sent<model::Finish>(1), 0);
  EXPECT_EQ(run.arranges.back().members.size(), 2u);
}

}  // namespace
}  // namespace toprun::run
