#include "node/plan/login_orders.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/pod.h"
#include "engines/login/login.h"

namespace toprun::plan {
namespace {

constexpr std::size_t max_orders_line_bytes = 1024;
constexpr std::string_view secret_word = "secret ";

// Reads the next bytes, `count` at most.
Result<std::string> read_some(int fd, std::size_t count, SteadyTime deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd poller{fd, POLLIN, 0};
    const int ready = ::poll(&poller, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("cannot read the launcher's instructions");
    if (ready == 0)
      return fail("no instructions from the toprun that starts this host",
                  "it sent nothing in time");
    std::string bytes(count, '\0');
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return fail("no instructions from the toprun that starts this host",
                  "it closed standard input");
    bytes.resize(static_cast<std::size_t>(n));
    return bytes;
  }
}

using nlohmann::json;

constexpr std::string_view orders_word = "orders ";

// Variables for which each agent has its own value.
constexpr std::array not_passed = {"TOPRUN_HOSTS", "TOPRUN_HOSTFILE"};
constexpr std::array<std::string_view, 3> passed_names = {
    "NO_COLOR", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"};
constexpr std::array<std::string_view, 9> passed_prefixes = {
    "NCCL_", "GLOO_", "TORCH_", "OMP_", "CUDA_LAUNCH_", "HF_", "WANDB_", "UCX_", "FI_"};
// Of this site alone.
constexpr std::array<std::string_view, 10> site_names = {
    "VIRTUAL_ENV", "CONDA_PREFIX", "http_proxy",  "https_proxy", "no_proxy",
    "all_proxy",   "HTTP_PROXY",   "HTTPS_PROXY", "NO_PROXY",    "ALL_PROXY"};
constexpr std::string_view site_prefix = "PYTHON";

bool is_a_setting(std::string_view name) {
  return std::ranges::find(passed_names, name) != passed_names.end() ||
         std::ranges::any_of(passed_prefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_of_the_site(std::string_view name) {
  return name.starts_with(site_prefix) || std::ranges::find(site_names, name) != site_names.end();
}

std::string this_host() {
  return "host " + hosts::host_name();
}

// Of another kind of machine it would not run: a rank that needs the program then says that it is
// missing.
Result<void> put_beside_toprun(const LoginOrders::Program& program) {
  if (program.name.empty() || program.machine != process::this_machine()) return {};
  const auto own = TRY(process::own_path());
  const auto file = own.parent_path() / program.name;
  const bool is_there = ::access(file.c_str(), X_OK) == 0 &&
                        read_file(file, program.content.size()).value_or("") == program.content;
  if (is_there) return {};
  // Another process may start the program as soon as it has its name.
  const std::string unnamed =
      file.string() + '.' + hosts::host_name() + '.' + std::to_string(::getpid());
  TRY(replace_file(unnamed, program.content));
  constexpr mode_t of_this_user = 0700;
  const bool is_made =
      ::chmod(unnamed.c_str(), of_this_user) == 0 && ::rename(unnamed.c_str(), file.c_str()) == 0;
  if (is_made) return {};
  const int code = errno;
  ::unlink(unnamed.c_str());
  return fail_errno(code, "cannot make " + file.string());
}

Result<void> enter(const std::string& directory, Environment& environment) {
  if (::chdir(directory.c_str()) != 0) {
    return fail_errno(
        fmt::format("working directory {} on {}", directory, this_host()),
        "make this directory on that host, or start toprun in a directory that every host has");
  }
  environment.set("PWD", directory);
  return {};
}

// "BOOT_ID/net:[N]/pid:[N]"; empty if unknown. Virtual hosts on one machine differ in namespaces.
std::string identity_of_machine() {
  const auto boot_id = read_file("/proc/sys/kernel/random/boot_id");
  std::string identity = boot_id ? std::string(trim(*boot_id)) : std::string();
  for (const char* const space : {"net", "pid"}) {
    std::error_code error;
    const auto target =
        std::filesystem::read_symlink(std::filesystem::path("/proc/self/ns") / space, error);
    if (identity.empty() || error) return {};
    identity += "/" + target.string();
  }
  return identity;
}

}  // namespace

// Reads one byte at a time, so that the bytes after the line stay for the next reader.
Result<std::string> read_orders_line(int fd, SteadyTime deadline) {
  std::string line;
  while (line.size() < max_orders_line_bytes) {
    const auto byte = TRY(read_some(fd, 1, deadline));
    if (byte.front() == '\n') return line;
    line += byte;
  }
  return fail(
      "no instructions from the toprun that starts this host",
      fmt::format("the first line that it sent is longer than {} bytes", max_orders_line_bytes));
}

Result<std::string> read_orders_bytes(int fd, std::size_t count, SteadyTime deadline) {
  std::string bytes;
  while (bytes.size() < count) {
    const auto more = TRY(read_some(fd, count - bytes.size(), deadline));
    bytes += more;
  }
  return bytes;
}

Result<std::string> receive_secret() {
  const auto line =
      TRY(read_orders_line(STDIN_FILENO, std::chrono::steady_clock::now() + orders_timeout));
  if (line.starts_with(secret_word)) return line.substr(secret_word.size());
  return fail("no instructions from the toprun that starts this host",
              "standard input does not begin with its secret",
              std::string("unset ") + std::string(step_variable));
}

Result<Orders> receive_orders(const Job& job) {
  if (!job.environment.has(step_variable)) {
    return job.place.key.empty() ? Orders{} : Orders{false, job.place.key};
  }
  if (!job.place.hears_launcher) return Orders{};
  auto secret = TRY(receive_secret());
  return Orders{true, std::move(secret)};
}

std::string text_of(const LoginOrders& orders) {
  const json parts = {{"argv", orders.argv},
                      {"directory", orders.directory},
                      {"variables", orders.variables},
                      {"in_pod", orders.in_pod},
                      {"kept_as", orders.kept_as},
                      {"program",
                       {{"name", orders.program.name},
                        {"machine", orders.program.machine},
                        {"bytes", orders.program.content.size()}}}};
  const std::string body = json_text(parts);
  return fmt::format("{}{}\n{}{}", orders_word, body.size(), body, orders.program.content);
}

Result<LoginOrders> parse_login_orders(std::string_view text) {
  try {
    const json body = json_in(text);
    LoginOrders orders;
    body.at("argv").get_to(orders.argv);
    body.at("directory").get_to(orders.directory);
    body.at("variables").get_to(orders.variables);
    body.at("in_pod").get_to(orders.in_pod);
    body.at("kept_as").get_to(orders.kept_as);
    const json& program = body.at("program");
    program.at("name").get_to(orders.program.name);
    program.at("machine").get_to(orders.program.machine);
    program.at("bytes").get_to(orders.program.bytes);
    if (orders.program.name.contains('/') || orders.program.bytes > max_rank_program_bytes) {
      return fail("the launcher's instructions", "the program in them has no valid name or size");
    }
    if (!orders.argv.empty()) return orders;
    return fail("the launcher's instructions", "they do not contain the command line to run");
  } catch (const json::exception& error) {
    return fail("the launcher's instructions cannot be read", error.what());
  }
}

Result<LoginOrders> receive_login_orders(const Environment& environment) {
  std::string address;
  if (environment.has("KUBERNETES_SERVICE_HOST")) {
    address = engines::kubernetes::address_in_hosts(read_file("/etc/hosts").value_or(""),
                                                    hosts::host_name());
  }
  const std::string up = engines::login_up(identity_of_machine(), address);
  [[maybe_unused]] const ssize_t n = ::write(STDOUT_FILENO, up.data(), up.size());
  const SteadyTime deadline = std::chrono::steady_clock::now() + login_orders_timeout;
  const auto line = TRY(read_orders_line(STDIN_FILENO, deadline));
  const auto bytes = line.starts_with(orders_word)
                         ? parse_int(std::string_view(line).substr(orders_word.size()))
                         : std::nullopt;
  if (!bytes || *bytes < 0 || *bytes > static_cast<std::int64_t>(max_login_orders_bytes)) {
    return fail("no instructions from the toprun that starts this host",
                "standard input does not begin with its first line",
                "unset TOPRUN_STEP: only toprun sets this variable");
  }
  const auto body =
      TRY(read_orders_bytes(STDIN_FILENO, static_cast<std::size_t>(*bytes), deadline));
  auto orders = TRY(parse_login_orders(body));
  orders.program.content = TRY(read_orders_bytes(STDIN_FILENO, orders.program.bytes, deadline));
  return orders;
}

Result<Environment> obey(const LoginOrders& orders, Environment environment) {
  if (orders.in_pod) {
    for (const std::string& name : engines::kubernetes::world_variables(environment)) {
      environment.unset(name);
    }
  }
  if (!orders.directory.empty()) {
    TRY(enter(orders.directory, environment));
  }
  if (const auto put = put_beside_toprun(orders.program); !put) {
    say("warning: " + put.error().line());
  }
  for (const auto& [name, value] : orders.variables) environment.set(name, value);
  environment.set(std::string(step_variable), "1");
  return environment;
}

std::map<std::string, std::string> passed_variables(const Environment& environment,
                                                    const std::vector<std::string>& names,
                                                    Likeness likeness) {
  std::map<std::string, std::string> passed;
  for (const auto& [name, value] : environment.variables()) {
    const bool named = std::ranges::find(names, name) != names.end() || is_a_setting(name) ||
                       (likeness == Likeness::same_site && is_of_the_site(name));
    const bool excluded =
        std::ranges::find(not_passed, name) != not_passed.end() ||
        std::ranges::find(variables_of_one_node, name) != variables_of_one_node.end();
    if (named && !excluded) passed[name] = value;
  }
  return passed;
}

}  // namespace toprun::plan
