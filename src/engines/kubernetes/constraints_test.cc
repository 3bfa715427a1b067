#include <gtest/gtest.h>

#include <functional>

#include "engines/kubernetes/operators.h"

namespace toprun::engines::kubernetes {
namespace {

Workload two_nodes() {
  Workload job;
  job.name = "train";
  job.nodes = 2;
  job.image = "image";
  job.command = {"toprun", "train.py"};
  return job;
}

struct ConstraintCase {
  std::function<void(Workload&)> change;
  std::vector<Operator> fits;  // the others refuse it
  const char* what;            // begins their error
};

TEST(Constraints, EachOperatorsOwn) {
  const std::vector<Operator> all = {Operator::pytorchjob, Operator::trainjob, Operator::jobset};
  const std::vector<Operator> no_trainjob = {Operator::pytorchjob, Operator::jobset};
  const std::vector<ConstraintCase> cases = {
      {[](Workload&) {}, all, ""},
      {[](Workload& job) { job.folder = "/a"; }, no_trainjob, "--chdir /a"},
      {[](Workload& job) { job.host_network = true; }, no_trainjob, "--host-network"},
      {[](Workload& job) { job.variables.resize(127); }, all, ""},
      {[](Workload& job) { job.variables.resize(128); }, no_trainjob, "the job has 128 variables"},
      {[](Workload& job) { job.image = std::string(501, 'a'); }, no_trainjob, "--container a"},
      {[](Workload& job) {
         job.variables = {{"PET_NNODES", "2"}};
       },
       no_trainjob, "-e PET_NNODES"},
      {[](Workload& job) {
         job.variables = {{"PET_RDZV_ID", "2"}};
       },
       all, ""},
      {[](Workload& job) { job.runtime = "r"; }, {Operator::trainjob}, "--runtime r"},
      {[](Workload& job) { job.env_from = {"s"}; }, no_trainjob, "--env-from s"},
      {[](Workload& job) { job.restricted = true; }, all, ""},
      {[](Workload& job) {
         job.restricted = true;
         job.run_as = RunAs{0};
       },
       {},
       "--run-as 0"},
      {[](Workload& job) { job.restricted = job.locks_memory = true; }, {}, "--ipc-lock"},
      {[](Workload& job) { job.least_nodes = 1; }, {Operator::pytorchjob}, "1 to 2 nodes"},
      {[](Workload& job) { job.placement.priority_class = "p"; }, no_trainjob,
       "--priority-class p"},
      {[](Workload& job) {
         job.placement.priority_class = "p";
         job.placement.placer = Placer::kueue;
       },
       all, ""},
      {[](Workload& job) { job.placement.placer = Placer::kai; }, no_trainjob, "--scheduler"},
      {[](Workload& job) {
         job.placement.placer = Placer::kai;
         job.placement.pools = {"a", "b"};
       },
       {},
       "--node-pool b"},
  };
  for (const ConstraintCase& one : cases) {
    Workload job = two_nodes();
    one.change(job);
    for (const Operator which : all) {
      const auto result = check(which, job);
      const bool fits = std::ranges::find(one.fits, which) != one.fits.end();
      ASSERT_EQ(result.has_value(), fits) << one.what << " of a " << kind_of(which);
      if (fits) continue;
      EXPECT_EQ(result.error()->exit_code, exit_usage);
      EXPECT_TRUE(result.error()->what.starts_with(one.what)) << result.error().line();
    }
  }
}

TEST(Constraints, ARuntimeMayHaveAnotherScheduler) {
  Workload job = two_nodes();
  job.placement.placer = Placer::volcano;
  job.runtime = "torch-volcano";
  EXPECT_TRUE(check(Operator::trainjob, job));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
