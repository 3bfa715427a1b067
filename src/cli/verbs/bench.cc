
#include <fmt/format.h>

#include "base/net/address.h"
#include "cli/benchmark/files.h"
#include "cli/benchmark/program.h"
#include "cli/benchmark/request.h"
#include "cli/benchmark/worker.h"
#include "cli/verbs/run.h"
#include "cli/verbs/run_verbs.h"
#include "node/plan/login_orders.h"
#include "run/model/exit.h"

namespace toprun::cli {
namespace {

using options::Command;
using options::FlagId;
using options::ParsedOption;

bool is_of_the_launch(const ParsedOption& option) {
  return options::knows(Command::run, *option.flag);
}

// A node that was named as another than the first gets the program from the first rank that has it.
bool gets_the_program(const options::Call& call) {
  return call.text(FlagId::node_rank).value_or("0") != "0";
}

// Returns the program beside toprun that the call's ranks may become; empty: none.
Result<std::string> check(const options::Call& call) {
  if (call.command == Command::bench_pairs) {
    TRY(benchmark::check_pairs(call));
    return std::string();
  }
  const auto request = TRY(benchmark::bench_request(call));
  if (request.bisect) {
    TRY(benchmark::check_bisect(call, request));
  }
  const auto& backends = request.measured.backends;
  auto program = TRY(benchmark::program_for(backends));
  if (!gets_the_program(call)) {
    TRY(benchmark::check_program(backends));
  }
  return program;
}

}  // namespace

Result<int> run_bench(const options::Call& call) {
  const auto program = TRY(check(call));
  const std::string what = call.command == Command::bench_pairs ? "pairs" : call.operand();
  // Every process of toprun is the same program, also in a container or sent by ssh.
  std::vector<std::string> launch{
      "toprun", "--no-python", "--env=OMP_NUM_THREADS=1",
      fmt::format("--env={}={}", benchmark::typed_on_variable, hosts::host_name())};
  std::vector<std::string> worker{std::string(model::own_program),
                                  std::string(benchmark::worker_word), what};
  for (const ParsedOption& option : call.split.options) {
    // The launch reads variables and files itself.
    if (option.origin.empty()) {
      (is_of_the_launch(option) ? launch : worker).push_back(options::word_of(option));
    }
  }
  launch.insert(launch.end(), worker.begin(), worker.end());
  Environment environment = call.environment;
  if (!program.empty()) environment.set(plan::rank_program_variable, program);
  return run(launch, environment);
}

}  // namespace toprun::cli
