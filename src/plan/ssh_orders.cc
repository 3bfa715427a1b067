#include "plan/ssh_orders.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "hosts/address.h"
#include "plan/orders.h"
#include "scheduler/ssh/ssh.h"

namespace toprun::plan {
namespace {

using nlohmann::json;

constexpr std::string_view orders_word = "orders ";

// Variables for which each agent has its own value.
constexpr std::array not_passed = {"TOPRUN_HOSTS", "TOPRUN_HOSTFILE"};
constexpr std::array passed_names = {"PYTHON_EXEC",
                                     "VIRTUAL_ENV",
                                     "CONDA_PREFIX",
                                     "NO_COLOR",
                                     "http_proxy",
                                     "https_proxy",
                                     "no_proxy",
                                     "all_proxy",
                                     "HTTP_PROXY",
                                     "HTTPS_PROXY",
                                     "NO_PROXY",
                                     "ALL_PROXY",
                                     "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
                                     "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"};
constexpr std::array passed_prefixes = {"NCCL_",        "GLOO_", "TORCH_", "OMP_", "PYTHON",
                                        "CUDA_LAUNCH_", "HF_",   "WANDB_", "UCX_", "FI_"};

std::string here() {
  return "host " + hosts::host_name();
}

}  // namespace

std::string text_of(const SshOrders& orders) {
  const std::string body =
      json{{"argv", orders.argv}, {"directory", orders.directory}, {"variables", orders.variables}}
          .dump(-1, ' ', false, json::error_handler_t::replace);
  return fmt::format("{}{}\n{}", orders_word, body.size(), body);
}

Result<SshOrders> parse_ssh_orders(std::string_view text) {
  try {
    const json body = json::parse(text);
    SshOrders orders;
    body.at("argv").get_to(orders.argv);
    body.at("directory").get_to(orders.directory);
    body.at("variables").get_to(orders.variables);
    if (!orders.argv.empty()) return orders;
    return fail("the launcher's orders", "they hold no command line");
  } catch (const json::exception& error) {
    return fail("the launcher's orders cannot be read", error.what());
  }
}

Result<SshOrders> receive_ssh_orders() {
  [[maybe_unused]] const ssize_t n =
      ::write(STDOUT_FILENO, scheduler::ssh_up.data(), scheduler::ssh_up.size());
  const SteadyTime deadline = std::chrono::steady_clock::now() + ssh_orders_timeout;
  const auto line = read_orders_line(STDIN_FILENO, deadline);
  if (!line) return std::unexpected(line.error());
  const auto bytes = line->starts_with(orders_word)
                         ? parse_int(std::string_view(*line).substr(orders_word.size()))
                         : std::nullopt;
  if (!bytes || *bytes < 0 || *bytes > static_cast<std::int64_t>(max_ssh_orders_bytes)) {
    return fail("no orders from the launcher", "what it wrote does not begin as they do",
                "unset TOPRUN_STEP: only toprun --hosts sets it");
  }
  const auto body = read_orders_bytes(STDIN_FILENO, static_cast<std::size_t>(*bytes), deadline);
  if (!body) return std::unexpected(body.error());
  return parse_ssh_orders(*body);
}

Result<Environment> obey(const SshOrders& orders, Environment environment) {
  if (::chdir(orders.directory.c_str()) != 0) {
    return fail_errno(fmt::format("working directory {} on {}", orders.directory, here()),
                      "make it there, or start toprun in a directory that every host has");
  }
  environment.set("PWD", orders.directory);
  for (const auto& [name, value] : orders.variables) environment.set(name, value);
  environment.set(std::string(step_variable), "1");
  return environment;
}

std::map<std::string, std::string> passed_variables(const Environment& environment,
                                                    const std::vector<std::string>& names) {
  std::map<std::string, std::string> passed;
  for (const auto& [name, value] : environment.variables()) {
    const bool named = std::ranges::find(passed_names, name) != passed_names.end() ||
                       std::ranges::find(names, name) != names.end() ||
                       std::ranges::any_of(passed_prefixes, [&name](std::string_view prefix) {
                         return name.starts_with(prefix);
                       });
    const bool excluded =
        std::ranges::find(not_passed, name) != not_passed.end() ||
        std::ranges::find(variables_of_one_node, name) != variables_of_one_node.end();
    if (named && !excluded) passed[name] = value;
  }
  return passed;
}

}  // namespace toprun::plan
