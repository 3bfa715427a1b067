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

// The table of all options of toprun and its verbs. The splitting and parsing of the command line,
// the keys of toprun.toml, help, manual page, completion and "did you mean" all use this table, so
// that they cannot differ.

enum class FlagId {
  unasked,  // an option that the code finds only by its row or its name, not by an id
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
  slurm_option,  // an option of sbatch and salloc, found by its name
  slurm_arg,
  pod_option,  // an option of Kubernetes, found by its name
  secret_env,
  interactive,
  on,
  after,
  wait,
  follow,
  attach,
  job_dry_run,
  requirement,  // this option and the following ones belong to setup
  import_test,
  base_python,
  system_site_packages,
  upgrade_pip,
  horovod,
  nccl_home,
  image_from,
  force,
  json,  // this option and the following ones belong to verbs that start nothing
  all,
  recent,
  rank,
  node,
  last_lines,
  signal,
  requested_nodes,
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
  min_bytes,  // this option and the following ones belong to bench
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

// The command that parses a command line: toprun under torchrun's name, or a verb.
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
// Commands that consist only of subcommands.
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
  of_verb,  // options of verbs that start nothing; a file cannot set them
  general,
  without_effect,  // toprun accepts these options, but they have no effect, because no user can see
                   // a difference
  plugins,         // options that name Python code which the launcher would have to load; toprun
                   // knows these options only to refuse them by name
};

struct Flag;
struct Argument;
struct RunDraft;
// Stores an option's value in a RunDraft (run_draft.h).
using Setter = Result<void> (*)(RunDraft& draft, const Flag& flag, const Argument& argument);

// One row of the table. Each row names only the fields that differ from these defaults, in this
// order.
struct Flag {
  std::string_view name = {};   // with dashes; inner dashes can be typed as underscores
  char letter = 0;              // the letter of the short form; 0: no short form
  std::string_view value = {};  // placeholder of the value; empty: a switch
  // The environment variable that sets the value if the command line does not. Empty: no variable.
  std::string_view variable = {};
  // Another environment variable, which sets the value if neither the command line nor `variable`
  // sets it. This older variable belongs to PyTorch, so workers inherit it.
  std::string_view older_variable = {};
  FlagId id = FlagId::unasked;
  Group group = Group::general;
  Commands known_to = 0;  // 0 in a row: the usual commands of its kind of row (flag_rows.h)
  // True: the user may leave out the value. `--flag` and `--flag=value` are valid. `--flag value`,
  // as two words, is valid only if the verb takes no operands.
  bool value_optional = false;
  bool repeatable = false;   // can be given several times, each time with another value
  bool of_one_call = false;  // makes sense only for one command line, so it is not a key of
                             // toprun.toml
  // The keys, separated by blanks, of the options that have the same meaning as this option or
  // exclude this option. If the user sets one of them, values of this option from sources with
  // lower priority are ignored.
  std::string_view rivals = {};
  Setter set = nullptr;        // null: a launch does not read the option, or reads it elsewhere
  std::string_view help = {};  // one or two sentences, without a full stop at the end
  // The default, for the help. Empty: the option has no default, or `help` contains the default.
  std::string_view default_value = {};
  Origin origin = Origin::toprun;  // not named in a row: torchrun() in flag_rows.h sets it

  bool is_switch() const { return value.empty(); }
};

std::span<const Flag> all_flags();
const Flag& flag_of(FlagId id);
// Returns the command's own row. For example, --venv of `toprun setup` is not the --venv of other
// commands.
const Flag& flag_of(FlagId id, Command command);

bool knows(Command command, const Flag& flag);

// Returns the environment variable that sets the option. For `toprun shell`, it is salloc's
// variable instead of sbatch's. Empty: no variable sets the option.
std::string variable_of(const Flag& flag, Command command);

// Returns the option's key in toprun.toml: "nproc-per-node".
std::string key_of(const Flag& flag);

// Returns the flag with exactly this name, written with dashes or underscores.
const Flag* find_flag(std::string_view name, Command command);
// Returns the first flag in the table that has this letter and belongs to the command. For example,
// `submit -t` is sbatch's -t.
const Flag* find_flag(char letter, Command command);

// Returns the literal words in a value's placeholder, such as static and c10d in "static|c10d".
// FILE is not a literal word.
std::vector<std::string_view> choices(std::string_view form);
std::vector<std::string_view> choices(const Flag& flag);
// Returns the words of a placeholder that is a list with commas: "tcp,gloo". Empty: another form.
std::vector<std::string_view> list_choices(std::string_view form);

// Returns torchrun's flags that begin with the text. If the result has several flags, `text` is an
// ambiguous abbreviation.
std::vector<const Flag*> abbreviated(std::string_view text, Command command);

// Returns a warning for each doubtful TOPRUN_* variable. A variable is doubtful if its name is
// unknown and resembles a known name. It is also doubtful if its name is made from an option that
// another variable sets, such as TOPRUN_TIME (SBATCH_TIMELIMIT sets --time). Other names are
// accepted, because sites may have variables of their own with this prefix.
std::vector<std::string> doubtful_variables(const std::vector<std::string>& names);

// Returns the flag that a mistyped option most likely means. Never suggests a plug-in flag.
std::optional<std::string> nearest_flag(std::string_view name, Command command);

}  // namespace toprun::options
