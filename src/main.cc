#include <unistd.h>

#include <string>
#include <vector>

#include "agent/shim.h"
#include "base/console.h"
#include "base/environment.h"
#include "base/print.h"
#include "base/uncaught.h"
#include "benchmark/worker.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "measure/tcp.h"
#include "plan/packed_words.h"
#include "plan/ssh_orders.h"
#include "scheduler/ssh/ssh.h"

int main(int argc, char** argv) {
  using namespace toprun;
  explain_uncaught_exceptions();
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() == 3 && words[1] == agent::shim_word) return agent::run_shim(words[2]);
  if (words.size() == 3 && words[1] == plan::packed_word) {
    auto unpacked = plan::unpack_words(words[2]);
    if (!unpacked) return give_up(unpacked.error());
    words = *std::move(unpacked);
  }
  Environment environment = Environment::from(environ);
  if (words.size() > 2 && words[1] == benchmark::worker_word) {
    const measure::NamedBackend backends[] = {{"tcp", measure::open_tcp}};
    return benchmark::run_worker(words, environment, backends);
  }
  if (environment.get(scheduler::ssh_step_variable) == scheduler::ssh_step) {
    const auto orders = plan::receive_ssh_orders();
    auto ordered = orders ? plan::obey(*orders, environment) : std::unexpected(orders.error());
    if (!ordered) {
      say(ordered.error().line());
      return ordered.error().exit_code;
    }
    words = orders->argv;
    environment = *std::move(ordered);
  }
  // The wheel's script `torchrun`, which can only exec us by our own name.
  const auto called_as = environment.non_empty("TOPRUN_CALLED_AS");
  if (called_as && !words.empty()) words[0] = *called_as;
  if (const auto code = cli::run_verb(words, environment)) return *code;
  return cli::run(words, environment);
}
