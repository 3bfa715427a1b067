#include <fmt/format.h>

#include <array>
#include <csignal>
#include <limits>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "cli/options/call.h"
#include "cli/verbs/run_verbs.h"
#include "node/store/server.h"

namespace toprun::cli {
namespace {

using options::Command;
using options::FlagId;

constexpr int max_port = 65'535;

struct StoreOptions {
  int port = 0;
  store::Limits limits;
};

struct Limit {
  std::string_view name;
  std::size_t store::Limits::*limit;
};
constexpr std::array limits = {
    Limit{"--max-key", &store::Limits::key_bytes},
    Limit{"--max-value", &store::Limits::value_bytes},
    Limit{"--max-keys-per-request", &store::Limits::keys_per_request},
    Limit{"--max-request", &store::Limits::request_bytes},
    Limit{"--max-memory", &store::Limits::total_bytes},
    Limit{"--max-connections", &store::Limits::connections},
    Limit{"--max-backlog", &store::Limits::backlog_bytes},
};

Result<std::size_t> parse_limit(const options::Flag& flag, const options::Argument& argument) {
  if (flag.value == "BYTES") return options::parse_size(argument);
  const auto number = TRY(options::parse_number(argument, 1, std::numeric_limits<int>::max()));
  return static_cast<std::size_t>(number);
}

Result<StoreOptions> options_of(const options::Split& split) {
  const auto argument = [&](const options::Flag& flag) {
    return options::argument_of(flag, split, {})
        .value_or(options::Argument{std::string(flag.name), std::string(flag.default_value)});
  };
  StoreOptions out;
  out.port = TRY(options::parse_number(argument(options::flag_of(FlagId::port)), 0, max_port));
  for (const Limit& each : limits) {
    const options::Flag* const flag = options::find_flag(each.name, Command::store);
    out.limits.*each.limit = TRY(parse_limit(*flag, argument(*flag)));
  }
  return out;
}

}  // namespace

Result<int> run_store(const options::Call& call) {
  auto options = TRY(options_of(call.split));
  options.limits.undecided = store::undecided_among(raise_open_files());
  // Blocked before the server's thread starts, so that only sigwait() below takes them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  auto listener = hosts::listen_on(options.port);
  if (!listener) return std::unexpected(listener.error().error);
  const int port = hosts::port_of(*listener);
  auto server =
      TRY(store::Server::start(std::move(*listener), store::Clients::served, options.limits));
  say(fmt::format("store: listening on {}:{}", hosts::host_name(), port));
  int signal = 0;
  ::sigwait(&ends, &signal);
  store::Server::abandon(std::move(server));
  return 0;
}

}  // namespace toprun::cli
