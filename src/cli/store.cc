#include "cli/store.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <expected>
#include <limits>

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/open_files.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/parse.h"
#include "hosts/address.h"
#include "store/server.h"

namespace toprun::cli {
namespace {

constexpr int default_port = 29500;
constexpr int max_port = 65'535;

struct StoreOptions {
  int port = default_port;
  store::Limits limits;
};

// A count or size on the command line and where it goes.
struct LimitOption {
  const char* name;
  const char* unit;
  const char* help;
  std::size_t store::Limits::*limit;
};
constexpr LimitOption limit_options[] = {
    {"--max-key", "BYTES", "longest key", &store::Limits::key_bytes},
    {"--max-value", "BYTES", "longest value in a request", &store::Limits::value_bytes},
    {"--max-keys-per-request", "N", "most keys in a request, or watched by a connection",
     &store::Limits::keys_per_request},
    {"--max-request", "BYTES", "longest request", &store::Limits::request_bytes},
    {"--max-memory", "BYTES", "keys, values, waits and buffers together",
     &store::Limits::total_bytes},
    {"--max-connections", "N", "most connections at once", &store::Limits::connections},
    {"--max-backlog", "BYTES", "replies that a client has not read yet",
     &store::Limits::backlog_bytes},
};

Result<int> parse_port(const std::string& text) {
  const auto port = parse_int(text);
  if (port && *port >= 0 && *port <= max_port) return static_cast<int>(*port);
  return usage(fmt::format("--port {}", text), "not a port",
               fmt::format("give 1 to {}, or 0 for any free one", max_port));
}

// An exit code: nothing is left to do.
std::expected<StoreOptions, int> parse_options(const std::vector<std::string>& arguments) {
  CLI::App app("A server for PyTorch's TCPStore, alone.", "toprun store");
  StoreOptions options;
  std::string port = std::to_string(default_port);
  app.add_option(
         "--port", port,
         fmt::format("port to listen on; 0: the kernel chooses (default: {})", default_port))
      ->type_name("PORT");
  std::string texts[std::size(limit_options)];
  for (std::size_t i = 0; i < std::size(limit_options); ++i) {
    const LimitOption& option = limit_options[i];
    texts[i] = std::to_string(options.limits.*option.limit);
    app.add_option(option.name, texts[i], fmt::format("{} (default: {})", option.help, texts[i]))
        ->type_name(option.unit);
  }
  app.footer(
      "Example: toprun store --port 29500 --max-memory 1G\n"
      "Numbers of bytes may end in k, M or G.");
  if (const auto code = parse(app, arguments)) return std::unexpected(*code);
  const auto number = parse_port(port);
  if (!number) return std::unexpected(give_up(number.error()));
  options.port = *number;
  for (std::size_t i = 0; i < std::size(limit_options); ++i) {
    const auto limit = parse_bytes(limit_options[i].name, texts[i]);
    if (!limit) return std::unexpected(give_up(limit.error()));
    options.limits.*limit_options[i].limit = *limit;
  }
  return options;
}

}  // namespace

Result<std::size_t> parse_bytes(std::string_view option, std::string_view text) {
  const std::string_view whole = text;
  int shift = 0;
  if (!text.empty()) {
    const std::size_t unit = std::string_view("kKmMgG").find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (1 + static_cast<int>(unit) / 2);
      text.remove_suffix(1);
    }
  }
  const auto number = parse_int(text);
  if (!number || *number <= 0 || *number > std::numeric_limits<std::int64_t>::max() >> shift) {
    return usage(fmt::format("{} {}", option, whole), "not a positive number",
                 "give digits, k, M or G may follow");
  }
  return static_cast<std::size_t>(*number) << shift;
}

int run_store(const std::vector<std::string>& arguments, const Environment&) {
  auto options = parse_options(arguments);
  if (!options) return options.error();
  options->limits.undecided = store::undecided_among(raise_open_files());
  // Blocked before the server's thread starts, so that only sigwait() below takes them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  auto listener = hosts::listen_on(options->port);
  if (!listener) {
    say(listener.error().line());
    return listener.error().exit_code;
  }
  const int port = hosts::port_of(*listener);
  auto server = store::Server::start(std::move(*listener), store::Clients::served, options->limits);
  if (!server) {
    say(server.error().line());
    return server.error().exit_code;
  }
  say(fmt::format("store: listening on {}:{}", hosts::host_name(), port));
  int signal = 0;
  ::sigwait(&ends, &signal);
  store::Server::abandon(std::move(*server));
  return 0;
}

}  // namespace toprun::cli
