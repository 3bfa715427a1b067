#include "launch/container_plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "agent/shim.h"
#include "container/binds.h"
#include "container/choose.h"
#include "container/node.h"
#include "launch/python.h"

namespace toprun::launch {
namespace {

namespace fs = std::filesystem;

Result<void> check_binds(const Job& job) {
  for (const container::Bind& bind : job.options.container.binds) {
    std::error_code error;
    if (fs::exists(bind.source, error)) continue;
    return usage(fmt::format("--bind {} on {}", bind.source, job.place.node_name),
                 error ? error.message() : "there is no such file or folder",
                 "check the path, and that this node has mounted it");
  }
  return {};
}

Result<std::vector<container::Bind>> binds_for(const Job& job, const std::string& folder,
                                               const std::string& here) {
  std::vector<container::Bind> binds = container::default_binds(here);
  binds.insert(binds.end(), job.options.container.binds.begin(), job.options.container.binds.end());
  if (job.options.log_dir) {
    std::error_code error;
    const fs::path logs = fs::absolute(*job.options.log_dir, error).lexically_normal();
    fs::create_directories(logs, error);
    if (error) {
      return usage(fmt::format("cannot write logs to {}", *job.options.log_dir), error.message(),
                   "name a folder that can be written with --log-dir");
    }
    if (!container::visible(logs.string(), binds)) binds.push_back({logs, logs});
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail("toprun's own path", error.message(), "mount /proc");
  binds.push_back({folder, folder});
  binds.push_back({self, std::string(program_inside), true});
  return container::in_order(binds);
}

}  // namespace

Result<ContainerPlan> plan_container(const Job& job, const std::string& folder) {
  ContainerPlan plan;
  const container::Wanted& wanted = job.options.container;
  const auto runtime = container::choose(wanted, job.environment, is_executable_file, false);
  if (!runtime) return std::unexpected(runtime.error());
  plan.runtime = *runtime;
  if (auto checked = check_binds(job); !checked) return std::unexpected(checked.error());
  std::error_code error;
  const std::string here = fs::current_path(error).string();
  if (error) return fail("the current folder", error.message(), "change to one that is there");
  auto binds = binds_for(job, folder, here);
  if (!binds) return std::unexpected(binds.error());
  plan.node = container::find_node(job.place.node_name);
  plan.run.wanted = wanted;
  plan.run.binds = *std::move(binds);
  plan.run.workdir = wanted.workdir.empty() ? here : wanted.workdir;
  plan.run.program = {std::string(program_inside), std::string(agent::shim_word),
                      fmt::format("{}/{}", folder, shim_socket_name)};
  plan.run.variables = wanted.variables;
  if (!wanted.name.empty()) {
    plan.creation = plan.runtime->creation(plan.run, plan.node, job.environment);
  }
  auto command = plan.runtime->command(plan.run, plan.node, job.environment);
  if (!command) return std::unexpected(command.error());
  plan.command = *std::move(command);
  return plan;
}

}  // namespace toprun::launch
