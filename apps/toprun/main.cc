#include <unistd.h>

#include <string>
#include <vector>

#include "base/os/console.h"
#include "base/os/environment.h"
#include "base/os/print.h"
#include "base/os/uncaught.h"
#include "bench/measure/tcp.h"
#include "cli/benchmark/worker.h"
#include "cli/verbs/run.h"
#include "cli/verbs/verbs.h"
#include "engines/login/login.h"
#include "node/plan/kept_run.h"
#include "node/plan/login_orders.h"
#include "node/plan/packed_words.h"
#include "node/worker/shim.h"

namespace toprun {
namespace {

int act(std::vector<std::string> words, const Environment& environment) {
  // The wheel's script `torchrun`, which can only exec us by our own name.
  const auto called_as = environment.non_empty("TOPRUN_CALLED_AS");
  if (called_as && !words.empty()) words[0] = *called_as;
  if (const auto code = cli::run_verb(words, environment)) return *code;
  return cli::run(words, environment);
}

// An agent that a login started; ssh's or kubectl's exit code may not be the agent's.
int obey_login(Environment environment) {
  const auto orders = plan::receive_login_orders(environment);
  auto ordered =
      orders ? plan::obey(*orders, std::move(environment)) : std::unexpected(orders.error());
  Result<std::string> folder;
  if (ordered && !orders->kept_as.empty()) folder = plan::keep_running(orders->kept_as, *ordered);
  if (!ordered || !folder) {
    const Error& error = ordered ? folder.error() : ordered.error();
    say(error.line());
    say_block(engines::login_ended(error.exit_code));
    return error.exit_code;
  }
  const int code = act(orders->argv, *ordered);
  if (!folder->empty()) {
    plan::keep_exit_code(*folder, code);
  } else {
    say_block(engines::login_ended(code));
  }
  return code;
}

}  // namespace
}  // namespace toprun

int main(int argc, char** argv) {
  using namespace toprun;
  explain_uncaught_exceptions();
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() == 3 && words[1] == worker::shim_word) return worker::run_shim(words[2]);
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
  if (environment.get(engines::login_step_variable) == engines::login_step) {
    return obey_login(std::move(environment));
  }
  return act(std::move(words), environment);
}
