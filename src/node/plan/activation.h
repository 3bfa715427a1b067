#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::plan {

inline constexpr std::chrono::seconds modules_limit{60};     // for loading all modules
inline constexpr std::chrono::seconds before_limit{300};     // for a user's command
inline constexpr std::chrono::seconds activation_limit{30};  // for a conda environment's scripts

// The steps that make the workers' environment, on every node: load the modules, run the command,
// enter the conda or virtual environment, set the variables, in this order.
struct Activation {
  std::vector<std::string> modules = {};  // "cuda/12.4", as for `module load`
  std::string before = {};                // bash, such as "source /opt/site.sh"; empty: none
  std::string conda = {};                 // a name, or a folder if it has a slash; empty: none
  std::string venv = {};                  // a folder; empty: none. Excludes `conda`
  // A variable without a value keeps the value that toprun was started with.
  std::vector<std::pair<std::string, std::optional<std::string>>> variables = {};

  bool empty() const {
    return modules.empty() && before.empty() && conda.empty() && venv.empty() && variables.empty();
  }
};

struct Activated {
  Environment environment;
  std::optional<std::string> python;  // from the virtual or conda environment
  std::string python_reason;          // "--venv"
  std::string note;                   // what toprun loaded by itself, and why; may be empty
};

// Runs a shell if modules, a command or scripts of a conda environment need one. Errors name `host`
// and the missing thing: no module command, a module that was not loaded (with the nearest name), a
// failed command, no such environment, one without a Python (venv).
//
// A virtual environment that `toprun setup` built (node/plan/setup/record.h) is used with the
// modules of its build: they are loaded if `wanted` has none. Errors: its setup is not complete, it
// was built for another architecture, or (exit_usage) `wanted` has other modules.
Result<Activated> activate(const Activation& wanted, const Environment& environment,
                           const std::string& host);

// The folder of a conda environment: the first `NAME` in the folders of CONDA_ENVS_PATH, of the
// installed conda (CONDA_EXE, MAMBA_ROOT_PREFIX), of ~/.conda and of the usual installations below
// the home; "base" is the installation itself. Error: none found (with the nearest name), or the
// folder is not a conda environment.
Result<std::filesystem::path> find_conda(const std::string& name, const Environment& environment,
                                         const std::string& host);

// The Python of a virtual environment. Error: there is none (with the nearest name), or its setup
// is not complete.
Result<std::string> find_venv(const std::string& venv, const std::string& host);

// Parses the output of `env -0`. Error: an entry without "=".
Result<Environment> parse_environment(std::string_view text);

// The names in the output of `module -t avail`, without folders, headings and marks.
std::vector<std::string> parse_available_modules(std::string_view text);

}  // namespace toprun::plan
