
#include <fmt/format.h>

#include "base/net/address.h"
#include "cli/benchmark/files.h"
#include "cli/benchmark/program.h"
#include "cli/benchmark/request.h"
#include "cli/benchmark/worker.h"
#include "cli/verbs/run.h"
#include "cli/verbs/run_verbs.h"
#include "run/model/exit.h"

namespace toprun::cli {
namespace {

using options::Command;
using options::FlagId;
using options::ParsedOption;

bool is_of_the_launch(const ParsedOption& option) {
  return options::knows(Command::run, *option.flag);
}

// A node that was named as another than the first gets the program from rank 0's host.
bool gets_the_program(const options::Call& call) {
  return call.text(FlagId::node_rank).value_or("0") != "0";
}

Result<void> check(const options::Call& call) {
  if (call.command == Command::bench_pairs) return benchmark::check_pairs(call);
  const auto request = TRY(benchmark::bench_request(call));
  if (request.bisect) {
    if (auto possible = benchmark::check_bisect(call, request); !possible) return possible;
  }
  const auto& backends = request.measured.backends;
  if (auto possible = benchmark::check_backends(backends); !possible) return possible;
  return gets_the_program(call) ? Result<void>() : benchmark::check_program(backends);
}

}  // namespace

Result<int> run_bench(const options::Call& call) {
  TRY(check(call));
  const std::string what = call.command == Command::bench_pairs ? "pairs" : call.operand();
  // Every process of toprun is the same program, also in a container or sent by ssh.
  std::vector<std::string> launch{"toprun", "--no-python", "--env=OMP_NUM_THREADS=1",
                                  fmt::format("--env={}={}", benchmark::typed_on_variable,
                                              hosts::host_name())};
  std::vector<std::string> worker{std::string(model::own_program),
                                  std::string(benchmark::worker_word), what};
  for (const ParsedOption& option : call.split.options) {
    // The launch reads variables and files itself.
    if (option.origin.empty()) {
      (is_of_the_launch(option) ? launch : worker).push_back(options::word_of(option));
    }
  }
  launch.insert(launch.end(), worker.begin(), worker.end());
  return run(launch, call.environment);
}

}  // namespace toprun::cli
