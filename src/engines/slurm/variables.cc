#include "engines/slurm/variables.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/net/hostlist.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/engine.h"
#include "engines/slurm/scontrol_record.h"

namespace toprun::engines::slurm {
namespace {

constexpr std::int64_t max_step_id = 0xffffffff;
constexpr std::int64_t max_tasks = 1 << 24;  // Slurm's own bound on tasks of a step is lower
constexpr int max_gpus = 65'536;

std::unexpected<Error> bad_value(const std::string& name, const std::string& value,
                                 std::string why) {
  return fail(fmt::format("{}=\"{}\"", name, value), std::move(why),
              "only Slurm may set this variable");
}

std::unexpected<Error> missing(const std::string& name) {
  return fail(fmt::format("{} is not set", name),
              "Slurm's other variables show that this is a Slurm job",
              "pass on all SLURM_ variables or none");
}

// "h100:4" is 4, "h100" is 1, "a100:2(S:0-1)" is 2.
std::optional<int> gpus_of_entry(std::string_view entry) {
  entry = trim(entry.substr(0, entry.find('(')));
  if (entry.empty()) return std::nullopt;
  const std::size_t colon = entry.rfind(':');
  const bool alone = colon == std::string_view::npos;
  const std::string_view count = alone ? entry : entry.substr(colon + 1);
  const auto value = parse_int(count);
  if (!value && alone && entry.find_first_of("0123456789") != 0) return 1;
  if (!value || *value < 0 || *value > max_gpus) return std::nullopt;
  return static_cast<int>(*value);
}

std::string node_list_text(const std::vector<std::string>& nodes) {
  return hosts::compress_hostlist(nodes);
}

Result<void> check_step(const Environment& environment, const Step& step) {
  if (step.tasks_per_node.size() != step.nodes.size()) {
    return bad_value(
        "SLURM_STEP_TASKS_PER_NODE", *environment.get("SLURM_STEP_TASKS_PER_NODE"),
        fmt::format("this variable counts tasks on {} nodes, but SLURM_STEP_NODELIST has {} nodes",
                    step.tasks_per_node.size(), step.nodes.size()));
  }
  const auto sum = std::accumulate(step.tasks_per_node.begin(), step.tasks_per_node.end(), 0LL);
  if (sum != step.tasks) {
    return bad_value("SLURM_STEP_NUM_TASKS", fmt::format("{}", step.tasks),
                     fmt::format("SLURM_STEP_TASKS_PER_NODE counts {} tasks", sum));
  }
  auto job = TRY(job_nodes(environment));
  const std::unordered_set<std::string> known(job.begin(), job.end());
  for (const std::string& node : step.nodes) {
    if (known.contains(node)) continue;
    return fail(
        fmt::format("SLURM_STEP_NODELIST names {}, which is not in SLURM_JOB_NODELIST", node),
        fmt::format("the job has {}: the step's variables belong to another job",
                    node_list_text(job)),
        "unset SLURM_STEP_ID");
  }
  return {};
}

// In a heterogeneous job SLURM_NODEID counts from component to component, but the lists of the step
// are sorted by name (22.05).
Result<void> by_component(const Environment& environment, Step& step) {
  const auto components = TRY(het_components(environment));
  if (components.empty()) return {};
  std::unordered_map<std::string, int> tasks;
  for (std::size_t i = 0; i < step.nodes.size(); ++i) tasks[step.nodes[i]] = step.tasks_per_node[i];
  step.nodes.clear();
  step.tasks_per_node.clear();
  for (const HetComponent& one : components) {
    for (const std::string& node : one.nodes) {
      const auto found = tasks.find(node);
      if (found == tasks.end()) continue;
      step.nodes.push_back(node);
      step.tasks_per_node.push_back(found->second);
    }
  }
  return {};
}

// A component without a requested number has one task on each node.
std::optional<std::vector<int>> requested_of(const std::vector<HetComponent>& components) {
  std::vector<int> tasks;
  for (const HetComponent& one : components) {
    const std::vector<int> each = one.tasks.value_or(std::vector<int>(one.nodes.size(), 1));
    tasks.insert(tasks.end(), each.begin(), each.end());
  }
  if (std::ranges::all_of(tasks, [](int count) { return count == 1; })) return std::nullopt;
  return tasks;
}

// srun takes the program's name, salloc and sbatch --wrap these.
constexpr std::array<std::string_view, 3> unchosen = {"toprun", "interactive", "wrap"};

constexpr std::int64_t max_components = 128;  // MAX_HET_JOB_COMPS

Result<HetComponent> component(const Environment& environment, std::int64_t index) {
  const auto name = [&](const char* variable) {
    return fmt::format("{}_HET_GROUP_{}", variable, index);
  };
  HetComponent component;
  component.nodes = TRY(hostlist(environment, name("SLURM_JOB_NODELIST")));
  const bool asked = environment.non_empty(name("SLURM_NTASKS_PER_NODE")).has_value() ||
                     environment.non_empty(name("SLURM_NTASKS")).has_value();
  if (!asked || !environment.non_empty(name("SLURM_TASKS_PER_NODE"))) return component;
  auto tasks = TRY(counts(environment, name("SLURM_TASKS_PER_NODE")));
  if (tasks.size() == component.nodes.size()) component.tasks = std::move(tasks);
  return component;
}

}  // namespace

Result<std::optional<std::int64_t>> number(const Environment& environment, const std::string& name,
                                           std::int64_t least, std::int64_t most) {
  const auto text = environment.non_empty(name);
  if (!text) return std::nullopt;
  const auto value = parse_int(*text);
  if (value && *value >= least && *value <= most) return value;
  return bad_value(name, *text, fmt::format("this is not a number from {} to {}", least, most));
}

Result<std::int64_t> required_number(const Environment& environment, const std::string& name,
                                     std::int64_t least, std::int64_t most) {
  const auto value = TRY(number(environment, name, least, most));
  if (!value) return missing(name);
  return *value;
}

Result<std::vector<std::string>> hostlist(const Environment& environment, const std::string& name) {
  const auto text = environment.non_empty(name);
  if (!text) return missing(name);
  auto nodes = hosts::expand_hostlist(*text);
  if (!nodes) return bad_value(name, *text, nodes.error().line());
  if (nodes->empty()) return bad_value(name, *text, "this list names no node");
  return std::move(*nodes);
}

Result<std::vector<int>> counts(const Environment& environment, const std::string& name) {
  const auto text = environment.non_empty(name);
  if (!text) return missing(name);
  auto values = hosts::expand_counts(*text);
  if (!values) return bad_value(name, *text, values.error().line());
  if (std::ranges::any_of(*values, [](int value) { return value < 1; })) {
    return bad_value(name, *text, "every node must have at least one task");
  }
  return std::move(*values);
}

Result<std::optional<int>> gpus(const Environment& environment, const std::string& name) {
  const auto text = environment.non_empty(name);
  if (!text) return std::nullopt;
  int sum = 0;
  for (const std::string_view entry : split(*text, ',')) {
    const auto count = gpus_of_entry(entry);
    if (!count || sum + *count > max_gpus) {
      return bad_value(name, *text, "this is not a number of GPUs such as 8 or h100:8");
    }
    sum += *count;
  }
  return sum;
}

Result<std::int64_t> job_id(const Environment& environment) {
  return required_number(environment, "SLURM_JOB_ID", 1, UINT32_MAX);
}

Result<std::optional<int>> task_number(const Environment& environment) {
  const auto task = TRY(number(environment, "SLURM_PROCID", 0, max_tasks));
  return task ? std::optional(static_cast<int>(*task)) : std::nullopt;
}

Result<std::vector<std::string>> job_nodes(const Environment& environment) {
  auto components = TRY(het_components(environment));
  if (components.empty()) return hostlist(environment, "SLURM_JOB_NODELIST");
  std::vector<std::string> nodes;
  for (const HetComponent& one : components) {
    nodes.insert(nodes.end(), one.nodes.begin(), one.nodes.end());
  }
  return nodes;
}

bool in_shell_step(const Environment& environment) {
  // slurm/slurm.h: SLURM_INTERACTIVE_STEP and SLURM_BATCH_SCRIPT, 32 bits without a sign; since
  // 26.05 written with one.
  constexpr std::array ids = {"4294967290", "4294967291", "-6", "-5"};
  const auto id = environment.get("SLURM_STEP_ID");
  return id && std::ranges::find(ids, *id) != ids.end();
}

bool in_task_step(const Environment& environment) {
  return environment.has("SLURM_STEP_ID") && !in_shell_step(environment);
}

Result<std::optional<Step>> step(const Environment& environment) {
  if (in_shell_step(environment)) return std::nullopt;
  const auto id = TRY(number(environment, "SLURM_STEP_ID", 0, max_step_id));
  if (!id) return std::nullopt;
  Step step;
  step.id = *id;
  step.nodes = TRY(hostlist(environment, "SLURM_STEP_NODELIST"));
  step.tasks_per_node = TRY(counts(environment, "SLURM_STEP_TASKS_PER_NODE"));
  const auto tasks = TRY(required_number(environment, "SLURM_STEP_NUM_TASKS", 1, max_tasks));
  step.tasks = static_cast<int>(tasks);
  TRY(check_step(environment, step));
  TRY(by_component(environment, step));
  return step;
}

Result<std::optional<std::vector<int>>> requested_tasks(const Environment& environment,
                                                        std::size_t nodes) {
  const auto components = TRY(het_components(environment));
  if (!components.empty()) return requested_of(components);
  const auto per_node = TRY(number(environment, "SLURM_NTASKS_PER_NODE", 1, max_tasks));
  if (!per_node && !environment.non_empty("SLURM_NTASKS")) return std::nullopt;
  std::vector<int> tasks;
  if (environment.non_empty("SLURM_TASKS_PER_NODE")) {
    tasks = TRY(counts(environment, "SLURM_TASKS_PER_NODE"));
  }
  if (tasks.size() != nodes) {
    if (!per_node) return std::nullopt;
    tasks.assign(nodes, static_cast<int>(*per_node));
  }
  if (std::ranges::all_of(tasks, [](int count) { return count == 1; })) return std::nullopt;
  return tasks;
}

bool shares_terminal(const Environment& environment, const Step& step, bool terminal) {
  // Steps that are started in such a shell inherit the variable, but have no terminal.
  return step.tasks > 1 && terminal && environment.has("SLURM_PTY_PORT");
}

std::unexpected<Error> refuse_shared_terminal(const Step& step) {
  return fail(
      fmt::format("this is one of {} tasks of an interactive step (srun --pty)", step.tasks),
      "only this task has the terminal, so the other tasks cannot join",
      fmt::format("leave this shell and type: srun -N {} --ntasks-per-node=1 toprun …",
                  step.nodes.size()));
}

std::optional<std::string> own_job_id(const Environment& environment) {
  const auto number = environment.non_empty("SLURM_JOB_ID");
  const auto array = environment.non_empty("SLURM_ARRAY_JOB_ID");
  const auto task = environment.non_empty("SLURM_ARRAY_TASK_ID");
  return number && array && task ? *array + '_' + *task : number;
}

std::optional<std::string> own_job_name(const Environment& environment) {
  if (!environment.has("SLURM_JOB_ID")) return std::nullopt;
  auto name = environment.non_empty("SLURM_JOB_NAME");
  if (name && std::ranges::find(unchosen, *name) != unchosen.end()) return std::nullopt;
  return name;
}

std::vector<std::string> other_nodes_of_own_job(const Environment& environment,
                                                const std::vector<std::string>& nodes) {
  if (!environment.has("SLURM_JOB_ID")) return {};
  auto others = job_nodes(environment);
  if (!others) return {};
  std::erase_if(*others, [&](const std::string& node) {
    return std::ranges::find(nodes, node) != nodes.end();
  });
  return *std::move(others);
}

std::optional<WallTime> job_end_in(std::string_view job, const Environment& environment) {
  const Record record(job);
  // Slurm gives a job without a limit 365 days when the job starts.
  const auto limit = duration(record.get("TimeLimit"));
  if (record.get("TimeLimit") == "UNLIMITED" || (limit && *limit >= days_of_unlimited)) {
    return std::nullopt;
  }
  if (!record.get("JobId").empty()) return moment(record.get("EndTime"));
  const auto seconds = parse_int(environment.get("SLURM_JOB_END_TIME").value_or(""));
  // A job without a limit gets a time in the far future, or the time a year after its start.
  constexpr std::int64_t latest = 1LL << 32;
  constexpr auto year = std::chrono::seconds(days_of_unlimited).count();
  if (!seconds || *seconds <= 0 || *seconds >= latest) return std::nullopt;
  const auto began = parse_int(environment.get("SLURM_JOB_START_TIME").value_or(""));
  if (began && *seconds - *began == year) return std::nullopt;
  return WallTime(std::chrono::seconds(*seconds));
}

std::optional<WallTime> own_job_end(const Environment& environment) {
  const auto id = environment.non_empty("SLURM_JOB_ID");
  if (!id) return std::nullopt;
  const auto shown =
      process::output_of({"scontrol", "show", "job", "-o", *id}, environment, engine_answer_limit);
  return job_end_in(shown.value_or(""), environment);
}

Result<std::vector<HetComponent>> het_components(const Environment& environment) {
  std::vector<HetComponent> components;
  const auto size = TRY(number(environment, "SLURM_HET_SIZE", 1, max_components));
  if (!size || *size == 1) return components;
  for (std::int64_t i = 0; i < *size; ++i) {
    auto one = TRY(component(environment, i));
    components.push_back(std::move(one));
  }
  return components;
}

}  // namespace toprun::engines::slurm
