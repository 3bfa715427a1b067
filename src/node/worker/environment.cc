#include "node/worker/environment.h"

#include <fmt/format.h>

#include <array>

#include "base/text/text.h"

namespace toprun::worker {
namespace {

constexpr std::string_view own_prefix = "TOPRUN_";
constexpr std::string_view local_rank_macro = "${local_rank}";

// torchrun's options (torch/distributed/run.py): PET_ and the option's name. Other PET_ variables
// belong to the user and stay.
constexpr std::array pet_options = {
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_RDZV_BACKEND",
    "PET_RDZV_ENDPOINT",
    "PET_RDZV_ID",
    "PET_RDZV_CONF",
    "PET_STANDALONE",
    "PET_MAX_RESTARTS",
    "PET_MONITOR_INTERVAL",
    "PET_START_METHOD",
    "PET_EVENT_LOG_HANDLER",
    "PET_ROLE",
    "PET_MODULE",
    "PET_NO_PYTHON",
    "PET_RUN_PATH",
    "PET_LOG_DIR",
    "PET_REDIRECTS",
    "PET_TEE",
    "PET_LOG_LINE_PREFIX_TEMPLATE",
    "PET_LOCAL_RANKS_FILTER",
    "PET_DUPLICATE_STDOUT_FILTERS",
    "PET_DUPLICATE_STDERR_FILTERS",
    "PET_NODE_RANK",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
    "PET_LOCAL_ADDR",
    "PET_SIGNALS_TO_HANDLE",
    "PET_SHUTDOWN_TIMEOUT",
    "PET_VIRTUAL_LOCAL_RANK",
};

void remove_what_is_ours(Environment& environment) {
  std::vector<std::string> own;
  for (const auto& [name, value] : environment.variables()) {
    if (name.starts_with(own_prefix)) own.push_back(name);
  }
  for (const std::string& name : own) environment.unset(name);
  for (const char* const name : pet_options) environment.unset(name);
}

}  // namespace

Environment worker_environment(const Environment& inherited, const WorkerFacts& facts) {
  Environment environment = inherited;
  remove_what_is_ours(environment);
  const auto set_number = [&](const char* name, int value) {
    environment.set(name, fmt::to_string(value));
  };
  const auto set_default = [&](const char* name, const std::string& value) {
    if (!environment.has(name)) environment.set(name, value);
  };

  set_number("RANK", facts.rank);
  set_number("LOCAL_RANK", facts.only_device ? 0 : facts.local_rank);
  if (facts.only_device) environment.set("CUDA_VISIBLE_DEVICES", *facts.only_device);
  set_number("LOCAL_WORLD_SIZE", facts.local_world_size);
  set_number("WORLD_SIZE", facts.world_size);
  set_number("GROUP_RANK", facts.group_rank);
  set_number("GROUP_WORLD_SIZE", facts.group_world_size);
  environment.set("ROLE_NAME", facts.role);
  set_number("ROLE_RANK", facts.role_rank);
  set_number("ROLE_WORLD_SIZE", facts.role_world_size);
  environment.set("MASTER_ADDR", facts.master_addr);
  set_number("MASTER_PORT", facts.master_port);
  set_number("TORCHELASTIC_RESTART_COUNT", facts.restart_count);
  set_number("TORCHELASTIC_MAX_RESTARTS", facts.max_restarts);
  environment.set("TORCHELASTIC_RUN_ID", facts.run_id);
  // Makes every rank, including rank 0, a client of toprun's store.
  environment.set("TORCHELASTIC_USE_AGENT_STORE", "True");
  environment.set("TORCHELASTIC_ERROR_FILE", facts.error_file);
  // torchrun sets it for itself and so its workers inherit it: their own elastic agents read it.
  if (!facts.signals_to_handle.empty()) {
    environment.set("TORCHELASTIC_SIGNALS_TO_HANDLE", facts.signals_to_handle);
  }
  set_default("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  if (sets_omp_num_threads(inherited, facts.local_world_size)) {
    environment.set("OMP_NUM_THREADS", "1");
  }
  for (const auto& [name, value] : facts.network) environment.set(name, value);

  environment.set("TOPRUN_NODE_NAME", facts.node_name);
  if (!facts.location.empty()) environment.set("TOPRUN_LOCATION", facts.location);
  if (!facts.order.empty()) environment.set("TOPRUN_RANK_ORDER", facts.order);
  set_number("TOPRUN_ATTEMPT", facts.attempt);
  return environment;
}

Environment common_environment(const Environment& inherited, int local_world_size) {
  WorkerFacts facts;
  facts.local_world_size = local_world_size;
  WorkerFacts others = facts;
  for (int* const number :
       {&others.rank, &others.local_rank, &others.world_size, &others.group_rank,
        &others.group_world_size, &others.role_rank, &others.role_world_size, &others.master_port,
        &others.restart_count, &others.max_restarts, &others.attempt}) {
    *number = -1;
  }
  for (std::string* const text :
       {&others.role, &others.master_addr, &others.run_id, &others.error_file, &others.node_name}) {
    *text = "other";
  }
  const Environment here = worker_environment(inherited, facts);
  const Environment there = worker_environment(inherited, others);
  Environment common;
  for (const auto& [name, value] : here.variables()) {
    if (there.get(name) == value) common.set(name, value);
  }
  return common;
}

Result<std::string> only_device(const Environment& inherited, int local_rank) {
  const auto visible = inherited.get("CUDA_VISIBLE_DEVICES");
  if (!visible) return fmt::to_string(local_rank);
  if (trim(*visible).empty()) return std::string();
  const auto devices = split(*visible, ',');
  const auto index = static_cast<std::size_t>(local_rank);
  if (index < devices.size()) return std::string(trim(devices[index]));
  return usage(fmt::format("--virtual-local-rank: no device for local rank {}", local_rank),
               fmt::format("CUDA_VISIBLE_DEVICES={} has {}", *visible, devices.size()),
               fmt::format("use at most --nproc-per-node {}", devices.size()));
}

bool sets_omp_num_threads(const Environment& inherited, int local_world_size) {
  return local_world_size > 1 && !inherited.has("OMP_NUM_THREADS");
}

std::vector<std::string> with_local_rank(std::vector<std::string> arguments, int local_rank) {
  const std::string number = fmt::to_string(local_rank);
  for (std::string& argument : arguments) {
    std::size_t at = 0;
    while ((at = argument.find(local_rank_macro, at)) != std::string::npos) {
      argument.replace(at, local_rank_macro.size(), number);
      at += number.size();
    }
  }
  return arguments;
}

}  // namespace toprun::worker
