#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::options {

// The options of toprun and of all its verbs. One table, from which the splitting of the command
// line, its parsing, the keys of toprun.toml, help, manual page, completion and the "did you mean"
// are made, so that they cannot differ.

enum class FlagId {
  unasked,  // no code uses this id: the row suffices, or the name finds it
  nnodes,
  nproc_per_node,
  hosts,
  host_file,
  standalone,
  node_rank,
  order,
  topology,
  segment,
  parallel,
  model,
  traffic,
  link,
  rdzv_backend,
  rdzv_conf,
  env,
  venv,
  conda,
  modules,
  before,
  container,
  container_runtime,
  bind,
  container_workdir,
  container_env,
  container_name,
  container_root,
  writable,
  no_gpu,
  container_environment,
  redirects,
  tee,
  log_dir,
  dry_run,
  profile,
  config_file,
  no_config,
  verbose,
  help_short,
  help,
  version,
  duplicate_stdout_filters,
  duplicate_stderr_filters,
  print_completion,
  slurm_option,  // of sbatch and salloc, by its name
  slurm_arg,
  pod_option,  // of Kubernetes, by its name
  secret_env,
  interactive,
  on,
  after,
  wait,
  follow,
  attach,
  job_dry_run,
  requirement,  // these and the following are of setup
  import_test,
  base_python,
  system_site_packages,
  upgrade_pip,
  horovod,
  nccl_home,
  image_from,
  force,
  json,  // these and the following are of the verbs that start nothing
  all,
  recent,
  rank,
  node,
  signal,
  wanted_nodes,
  earlier_order,
  drawn_order,
  scored_order,
  message_size,
  format,
  explain,
  groups,
  form,
  output,
  port,
  bill_of_materials,
  root,
  fabric,
  nccl_version,
  other_host,
  shell,
  fix,
  here,
  json_lines,
  dumps,
  min_bytes,  // these and the following are of bench
  max_bytes,
  step_bytes,
  step_factor,
  iterations,
  warmups,
  check,
  reduction,
  datatype,
  root_rank,
  backend,
  fabrics,
  preset,
  connections,
  until_cv,
  bisect,
  aggregated,
  averaged,
  compared_orders,
  compared_nodes,
  compared_ranks,
  link_gbps,
  uplink_gbps,
  history,
  last,
  collective,
  expect_busbw,
  fail_below,
  rounds,
  exclude_bad,
  plot,
  stall,
  save,
  html,
};

enum class Origin { torchrun, toprun };

// The owner of a command line: toprun under torchrun's name, or a verb.
enum class Command {
  torchrun,
  run,
  submit,
  shell,
  setup,
  jobs,
  status,
  logs,
  stacks,
  report,
  top,
  eta,
  cancel,
  grow,
  cluster,
  topo,
  topo_show,
  topo_order,
  topo_draw,
  topo_score,
  topo_convert,
  net,
  net_show,
  net_env,
  doctor,
  bench,
  bench_pairs,
  bench_compare,
  bench_import,
  bench_history,
  config,
  config_show,
  config_init,
  store,
  completion,
  man,
  help,
  version,
};

// A set of commands.
using Commands = std::uint64_t;
template <std::same_as<Command>... Some>
constexpr Commands of(Some... commands) {
  return ((Commands{1} << static_cast<int>(commands)) | ...);
}
// Commands that only have verbs of their own.
inline constexpr Commands families = of(Command::topo, Command::net, Command::config);

enum class Group {
  building,
  allocation,
  submission,
  pods,
  placement,
  rendezvous,
  program,
  container,
  stopping,
  output,
  of_verb,  // means one call of a verb that starts nothing: no file gives it
  general,
  without_effect,  // accepted, because it changes nothing that a user can see
  plugins,         // names Python code for the launcher to load: known, to be refused by name
};

struct Flag;
struct Given;
struct RunDraft;
// Stores the given value in the draft of a launch (run_draft.h).
using Setter = Result<void> (*)(RunDraft& draft, const Flag& flag, const Given& given);

struct Flag {
  FlagId id;
  std::string_view name;      // with dashes; underscores instead of the inner ones mean the same
  char letter = 0;            // of the short form, 0 if there is none
  std::string_view value;     // the form of its value; empty: a switch
  std::string_view variable;  // gives the value where the command line does not; may be empty
  Origin origin = Origin::torchrun;
  Group group = Group::general;
  std::string_view help;           // one sentence or two, without a full stop at the end
  std::string_view default_value;  // for the help; empty: said in `help` or none
  // Gives the value where neither the command line nor `variable` does. PyTorch's, not an option's:
  // workers inherit it.
  std::string_view older_variable = {};
  Commands known_to = 0;
  // --flag or --flag=value; --flag value only where a verb takes no other words.
  bool value_optional = false;
  bool repeatable = false;   // may be given several times, each with a value of its own
  bool of_one_call = false;  // means one call and no project: no key of toprun.toml
  // Keys separated by blanks: options with the same meaning, or that exclude this one. Giving one
  // of them also decides about this one.
  std::string_view rivals = {};
  Setter set = nullptr;  // null: a launch reads it elsewhere, or not at all

  bool is_switch() const { return value.empty(); }
};

std::span<const Flag> all_flags();
const Flag& flag_of(FlagId id);
// As the command has it: setup's --venv is not that of the others.
const Flag& flag_of(FlagId id, Command command);

bool knows(Command command, const Flag& flag);

// The variable that gives its value: shell reads salloc's instead of sbatch's. Empty: none.
std::string variable_of(const Flag& flag, Command command);

// Its name in toprun.toml: "nproc-per-node".
std::string key_of(const Flag& flag);

// The flag of exactly this name, with dashes or underscores.
const Flag* find_flag(std::string_view name, Command command);
// A letter that two of the command's flags have is the first one's: `submit -t` is sbatch's.
const Flag* find_flag(char letter, Command command);

// The words among the forms of a value, as static and c10d in "static|c10d"; FILE is none.
std::vector<std::string_view> choices(std::string_view form);
std::vector<std::string_view> choices(const Flag& flag);

// torchrun's flags that begin with the text; more than one: the text is ambiguous.
std::vector<const Flag*> abbreviated(std::string_view text, Command command);

// The name that a mistyped option most likely means, plug-ins left out.
std::optional<std::string> nearest_flag(std::string_view name, Command command);

}  // namespace toprun::options
