
#include <string>
#include <utility>

#include "base/os/console.h"
#include "cli/verbs/run.h"
#include "engines/login/login.h"
#include "node/plan/kept_run.h"
#include "node/plan/login_orders.h"

namespace toprun::cli {

bool awaits_login_orders(const Environment& environment) {
  return environment.get(engines::login_step_variable) == engines::login_step;
}

int run_login_agent(Environment environment) {
  const auto orders = plan::receive_login_orders(environment);
  auto ordered =
      orders ? plan::obey(*orders, std::move(environment)) : std::unexpected(orders.error());
  Result<std::string> folder;
  if (ordered && !orders->kept_as.empty()) folder = plan::keep_running(orders->kept_as, *ordered);
  if (!ordered || !folder) {
    const Error& error = ordered ? folder.error() : ordered.error();
    say(error.line());
    say_block(engines::login_ended(error->exit_code));
    return error->exit_code;
  }
  const int code = act(orders->argv, *ordered);
  if (!folder->empty()) {
    plan::keep_exit_code(*folder, code);
  } else {
    say_block(engines::login_ended(code));
  }
  return code;
}

}  // namespace toprun::cli
