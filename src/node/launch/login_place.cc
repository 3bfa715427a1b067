#include "node/launch/login_place.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/net/address.h"
#include "base/os/style.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "node/agent/publish/launch_line.h"
#include "node/launch/step.h"
#include "node/link/preamble.h"
#include "node/plan/program.h"

namespace toprun::launch {
namespace {

bool is_own(const hosts::Address& address) {
  if (address.is_loopback()) return true;
  const auto own = hosts::local_addresses();
  return own && std::ranges::find(*own, address, &hosts::LocalAddress::address) != own->end();
}

std::string first_label(const std::string& name) {
  return lower(name.substr(0, name.find('.')));
}

bool is_reachable(const std::string& text) {
  const auto address = hosts::Address::parse(text);
  return address && !address->is_loopback();
}

// The address at which `member` reaches the root.
std::string root_address(const Answered& root, const Answered& member) {
  if (!root.here) return is_reachable(root.server) ? root.server : root.node.name;
  if (member.here) return "127.0.0.1";
  const auto came_from = hosts::Address::parse(member.client);
  // Behind a jump host the member sees that host's address instead.
  return came_from && is_own(*came_from) ? member.client : hosts::host_name();
}

// The shell's, which may lead through links that every host has; else the kernel's.
std::string working_directory(const Environment& environment) {
  struct stat here {
  }, named{};
  const auto shell = environment.non_empty("PWD");
  if (shell && shell->starts_with('/') && ::stat(".", &here) == 0 &&
      ::stat(shell->c_str(), &named) == 0 && here.st_ino == named.st_ino &&
      here.st_dev == named.st_dev) {
    return *shell;
  }
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

// argv[0] as the hosts are to take it: the Python beside it counts, wherever it was found.
std::string called_by(const plan::Job& job) {
  const std::string& word = job.options.command_line.front();
  const std::string found = process::find_program(word, job.environment).value_or("");
  std::error_code error;
  const auto absolute = std::filesystem::absolute(found.empty() ? word : found, error);
  return error ? word : absolute.lexically_normal().string();
}

}  // namespace

int root_among(const std::vector<Answered>& answered) {
  const auto here = std::ranges::find(answered, true, &Answered::here);
  return here == answered.end() ? 0 : static_cast<int>(here - answered.begin());
}

std::vector<plan::LoginOrders> orders_for(const plan::Job& job,
                                          const std::vector<Answered>& answered) {
  const bool in_pods = job.place.engine == engines::EngineKind::exec;
  engines::LoginPlace place;
  place.engine = job.place.engine;
  const std::string run = link::random_hex(4);
  place.job = fmt::format("{}.{}", name_of(place.engine), run);
  place.stays = job.options.detach;
  for (const Answered& one : answered) place.nodes.push_back(one.node);
  place.root = root_among(answered);
  plan::LoginOrders same;
  same.argv = {in_pods ? "toprun" : called_by(job)};
  same.in_pod = in_pods;
  if (place.stays) same.kept_as = run;
  const std::vector<std::string> arguments = arguments_for(job);
  same.argv.insert(same.argv.end(), arguments.begin(), arguments.end());
  if (!in_pods) same.directory = working_directory(job.environment);
  std::vector<std::string> requested = job.options.option_variables;
  for (const auto& [name, value] : job.options.activation.variables) {
    if (!value) requested.push_back(name);
  }
  same.variables = plan::passed_variables(
      job.environment, requested, in_pods ? plan::Likeness::own_image : plan::Likeness::same_site);
  if (place.stays) {
    same.variables["TOPRUN_GATHER_OUTPUT"] = "1";
  } else {
    if (style_of_stderr(job.environment).colour)
      same.variables[std::string(colours_variable)] = "1";
    if (publish::shows_launches(job)) same.variables[std::string(publish::launch_variable)] = "1";
  }
  std::vector<plan::LoginOrders> all;
  for (std::size_t i = 0; i < answered.size(); ++i) {
    place.node = static_cast<int>(i);
    place.root_address = root_address(answered[static_cast<std::size_t>(place.root)], answered[i]);
    plan::LoginOrders orders = same;
    orders.variables.merge(engines::variables_of(place));
    all.push_back(std::move(orders));
  }
  return all;
}

std::optional<Error> machine_named_twice(const std::vector<Answered>& answered,
                                         std::string_view source, StepOf what) {
  const bool is_verb = what == StepOf::verb;
  std::map<std::string_view, std::string_view> name_of_machine;
  for (const Answered& one : answered) {
    if (one.machine.empty()) continue;
    const auto [first, is_new] = name_of_machine.emplace(one.machine, one.node.name);
    if (is_new) continue;
    return usage(fmt::format("{}: {} and {} are one machine", source, first->second, one.node.name),
                 is_verb ? "each name would count as a host, and this machine would be compared "
                           "with itself"
                         : "each name would become a node, and both nodes would use the same GPUs",
                 is_verb ? "list each machine once"
                         : "list each machine once, with its number of processes (HOST:N)")
        .error();
  }
  return std::nullopt;
}

bool is_this_host(const engines::Node& node) {
  if (node.login != node.name) return false;
  if (node.name == "localhost") return true;
  if (const auto address = hosts::Address::parse(node.name)) return is_own(*address);
  const std::string own = hosts::host_name();
  return lower(node.name) == lower(own) ||
         (first_label(node.name) == first_label(own) &&
          (node.name.find('.') == std::string::npos || own.find('.') == std::string::npos));
}

std::string count_text(engines::EngineKind engine, std::size_t count) {
  return counted(count, engine == engines::EngineKind::exec ? "pod" : "host");
}

}  // namespace toprun::launch
