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
      {"VIRTUAL_ENV, CONDA_PREFIX, PATH", "where it is looked for otherwise"},
      {"TOPRUN_SECRET, TOPRUN_SECRET_FILE",
       "by hand on several nodes: a text that is the same on all, or a file with it; an agent "
       "without it cannot join"},
      {"TOPRUN_WEB_TOKEN", "the token that the page of --web asks for, instead of a random one"},
      {"TOPRUN_ENGINE_TIMEOUT",
       "seconds that Slurm's commands, kubectl or runai may take to answer (30)"},
      {"KUBECONFIG, SLURM_CONF", "which cluster kubectl and Slurm's commands ask"},
      {"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR, TMPDIR",
       "where the files below lie"},
      {"NO_COLOR", "if it is not empty: no colours"},
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
      {name, "of the project: in the working directory or the nearest folder above it"},
      {"~/.config/toprun/" + name, "of the user"},
      {std::string(config::system_config), "of the machine"},
      {"logs/JOB/", "of a job that toprun submit or shell started: script, output, report.json"},
      {"~/.local/state/toprun/bench.jsonl", "what toprun bench --history measured"},
      {"~/.cache/toprun/", "what --prefetch recorded; on hosts reached by ssh, toprun itself"},
      {"/run/user/UID/toprun/, /tmp/toprun-UID/",
       "sockets by which toprun top, stacks and others ask running jobs of this machine"},
  };
}

}  // namespace toprun::cli
