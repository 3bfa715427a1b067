#include <algorithm>
#include <map>

#include "base/text/text.h"
#include "cli/config/config_search.h"
#include "cli/options/command_lines.h"
#include "cli/options/flags.h"
#include "cli/verbs/help/help.h"

namespace toprun::cli {
namespace {

using Row = options::CommandText::Row;

// A variable, and the options that it gives a value to.
using OptionsOfVariables = std::map<std::string, std::vector<std::string>>;

void add(OptionsOfVariables& all, std::string_view variable, std::string_view option) {
  if (variable.empty()) return;
  std::vector<std::string>& options = all[std::string(variable)];
  if (std::ranges::find(options, option) == options.end()) options.emplace_back(option);
}

OptionsOfVariables options_of_variables() {
  OptionsOfVariables all;
  for (const options::Flag& flag : options::all_flags()) {
    for (const options::CommandLine& line : options::command_lines()) {
      if (!options::knows(line.command, flag)) continue;
      add(all, options::variable_of(flag, line.command), flag.name);
      add(all, flag.older_variable, flag.name);
    }
  }
  return all;
}

std::vector<Row> variables_without_option() {
  return {
      {"PYTHON_EXEC", "the Python that runs scripts"},
      {"VIRTUAL_ENV, CONDA_PREFIX, PATH",
       "where toprun looks for Python if PYTHON_EXEC is not set"},
      {"TOPRUN_SECRET, TOPRUN_SECRET_FILE",
       "for a start by hand on several nodes: a secret that is the same on all nodes, or a file "
       "that contains this secret; an agent without the secret cannot join"},
      {"TOPRUN_WEB_TOKEN",
       "the token that the web page of --web requires, instead of a random one"},
      {"TOPRUN_ENGINE_TIMEOUT",
       "time limit in seconds for Slurm's commands, kubectl and runai (default: 30)"},
      {"KUBECONFIG, SLURM_CONF", "the cluster that kubectl and Slurm's commands use"},
      {"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR, TMPDIR",
       "the folders that contain toprun's files (see FILES)"},
      {"NO_COLOR", "if this variable is not empty, toprun's output has no colours"},
  };
}

}  // namespace

std::vector<Row> environment_rows() {
  std::vector<Row> rows;
  for (const auto& [variable, options] : options_of_variables()) {
    rows.push_back({variable, join(options, ", ")});
  }
  for (Row& row : variables_without_option()) rows.push_back(std::move(row));
  return rows;
}

std::vector<Row> file_rows() {
  const std::string name(config::config_name);
  return {
      {name, "the project's settings: in the working directory or the nearest folder above it"},
      {"~/.config/toprun/" + name, "the user's settings"},
      {std::string(config::system_config), "the machine's settings"},
      {"logs/JOB/",
       "files of a job that toprun submit or shell started: script, output, report.json"},
      {"~/.local/state/toprun/bench.jsonl", "results of toprun bench --history"},
      {"~/.cache/toprun/",
       "the records of --prefetch; on hosts reached by ssh, also toprun itself"},
      {"/run/user/UID/toprun/, /tmp/toprun-UID/",
       "sockets through which `toprun top`, `toprun stacks` and other verbs query running jobs on "
       "this machine"},
  };
}

}  // namespace toprun::cli
