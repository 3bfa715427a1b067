#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>

#include "base/process/command.h"
#include "node/prepare/probes/preflight.h"

namespace toprun::probes {
namespace {

// What it costs a launch, with this Python (PYTHON=… names another): the budget is 5 ms.
void examine_this_host(benchmark::State& state) {
  const char* const python = std::getenv("PYTHON");
  plan::Job job;
  job.environment = Environment::from(::environ);
  job.inherited = spawn::Inherited::capture();
  job.program = {python == nullptr ? "/usr/bin/python3" : python};
  job.options.script = process::own_program;  // above the limit in a debug build
  if (::access("tests/failure_test.py", R_OK) == 0) job.options.script = "tests/failure_test.py";
  for (auto _ : state) benchmark::DoNotOptimize(examine(job));
}
BENCHMARK(examine_this_host)->Unit(benchmark::kMicrosecond);

void compare_many_nodes(benchmark::State& state) {
  std::vector<model::Join> joins(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < joins.size(); ++i) {
    joins[i].host = fmt::format("n{}", i);
    joins[i].slots = 8;
    model::Evidence evidence;
    evidence.script = i % 100 == 0 ? "other" : "one";
    evidence.python = "3.11";
    evidence.torch = "2.13.0";
    evidence.resources.open_files = 1024;
    joins[i].evidence = evidence;
  }
  for (auto _ : state) benchmark::DoNotOptimize(preflight_warnings(joins));
}
BENCHMARK(compare_many_nodes)->Arg(12'500)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::probes
