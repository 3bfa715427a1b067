#include "launch/container_plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "agent/shim.h"
#include "container/binds.h"
#include "container/choose.h"
#include "container/environment.h"
#include "container/node.h"
#include "launch/python.h"

namespace toprun::launch {
namespace {

namespace fs = std::filesystem;

// bash where the image has one; its first word is a virtual environment to enter, or empty.
constexpr std::string_view best_shell =
    R"(test -z "$0" || . "$0/bin/activate" || exit; command -v bash >/dev/null && exec bash; exec sh)";

Result<void> check_binds(const container::Wanted& wanted, const std::string& host) {
  for (const container::Bind& bind : wanted.binds) {
    std::error_code error;
    if (fs::exists(bind.source, error)) continue;
    return usage(fmt::format("--bind {} on {}", bind.source, host),
                 error ? error.message() : "there is no such file or folder",
                 "check the path, and that this node has mounted it");
  }
  return {};
}

Result<std::string> current_folder() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return fail("the current folder", error.message(), "change to one that is there");
  return here.string();
}

// Where logs are kept, made if it is not there; empty: nowhere.
Result<std::string> log_folder(const Options& options) {
  if (!options.log_dir) return std::string();
  std::error_code error;
  const fs::path logs = fs::absolute(*options.log_dir, error).lexically_normal();
  fs::create_directories(logs, error);
  if (!error) return logs.string();
  return usage(fmt::format("cannot write logs to {}", *options.log_dir), error.message(),
               "name a folder that can be written with --log-dir");
}

}  // namespace

Result<ContainerPlan> plan_container(const container::Wanted& wanted, const Inside& inside,
                                     const Environment& environment, const std::string& host) {
  ContainerPlan plan;
  const auto runtime = container::choose(wanted, environment, is_executable_file, false);
  if (!runtime) return std::unexpected(runtime.error());
  plan.runtime = *runtime;
  if (auto checked = check_binds(wanted, host); !checked) return std::unexpected(checked.error());
  const auto here = current_folder();
  if (!here) return std::unexpected(here.error());
  std::vector<container::Bind> binds = container::default_binds(*here);
  binds.insert(binds.end(), wanted.binds.begin(), wanted.binds.end());
  binds.insert(binds.end(), inside.binds.begin(), inside.binds.end());
  plan.node = container::find_node(host);
  plan.run.wanted = wanted;
  plan.run.binds = container::in_order(binds);
  plan.run.workdir = wanted.workdir.empty() ? *here : wanted.workdir;
  plan.run.program = inside.program;
  plan.run.variables = inside.variables;
  plan.run.interactive = inside.interactive;
  plan.creation = plan.runtime->creation(plan.run, plan.node, environment);
  auto command = plan.runtime->command(plan.run, plan.node, environment);
  if (!command) return std::unexpected(command.error());
  plan.command = *std::move(command);
  return plan;
}

Result<ContainerPlan> plan_container(const Job& job, const std::string& folder) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail("toprun's own path", error.message(), "mount /proc");
  auto logs = log_folder(job.options);
  if (!logs) return std::unexpected(logs.error());
  Inside inside;
  inside.binds = {{folder, folder}, {self, std::string(program_inside), true}};
  if (!logs->empty()) inside.binds.push_back({*logs, *logs});
  inside.program = {std::string(program_inside), std::string(agent::shim_word),
                    fmt::format("{}/{}", folder, shim_socket_name)};
  return plan_container(job.options.container, inside, job.environment, job.place.node_name);
}

Result<ContainerPlan> plan_shell(const container::Wanted& wanted, const std::string& venv,
                                 const Environment& environment, const std::string& host,
                                 bool on_terminal) {
  Inside inside;
  inside.program = {"/bin/sh", "-c", std::string(best_shell), venv};
  inside.interactive = on_terminal;
  for (const auto& [name, value] : environment.variables()) {
    if (container::passes(name)) inside.variables.emplace_back(name, value);
  }
  inside.variables.insert(inside.variables.end(), wanted.variables.begin(), wanted.variables.end());
  return plan_container(wanted, inside, environment, host);
}

}  // namespace toprun::launch
