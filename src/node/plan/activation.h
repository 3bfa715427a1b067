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

inline constexpr std::chrono::seconds modules_limit{60};  // time limit for loading all modules
inline constexpr std::chrono::seconds before_limit{300};  // time limit for a user's command
// Time limit for a conda environment's scripts, and for listing the modules.
inline constexpr std::chrono::seconds activation_limit{30};

// The steps that create the workers' environment, on every node. The order is: load the modules,
// run the command, activate the conda or virtual environment, set the variables.
struct Activation {
  std::vector<std::string> modules = {};  // as for `module load`: "cuda/12.4"
  std::string before = {};  // a bash command, such as "source /opt/site.sh"; empty: no command
  std::string conda = {};   // a name; with a slash, a folder; empty: no conda environment
  std::string venv = {};    // a folder; empty: no virtual environment. Excludes `conda`
  // If a variable has no value here, it gets the value from toprun's own environment.
  std::vector<std::pair<std::string, std::optional<std::string>>> variables = {};

  bool empty() const {
    return modules.empty() && before.empty() && conda.empty() && venv.empty() && variables.empty();
  }
};

struct Activated {
  Environment environment;
  std::optional<std::string> python;  // the Python of the virtual or conda environment
  std::string python_reason;          // "--venv"
  std::string note;  // the modules that toprun loaded by itself, and why; may be empty
};

// Performs the steps of `requested` and returns the resulting environment. Runs a shell if modules,
// a command or scripts of a conda environment need a shell. Errors name `host` and the problem:
// there is no module command, a module cannot be loaded (with the most similar name), a command
// failed, the environment is missing, or a virtual environment has no Python.
//
// A virtual environment that `toprun setup` built (node/plan/setup/setup_record.h) is used with the
// modules of its build. If `requested` has no modules, loads the modules of the build. Further
// errors: `toprun setup` has not completed the environment, it was built for another architecture,
// or (exit_usage) `requested` has different modules.
Result<Activated> activate(const Activation& requested, const Environment& environment,
                           const std::string& host);

// Returns the folder of the conda environment `name`. Searches the folders in CONDA_ENVS_PATH, then
// those of the installed conda (CONDA_EXE, MAMBA_ROOT_PREFIX), ~/.conda and the usual installations
// below the home directory. The name "base" means the installation's own environment. Error: no
// such environment (with the most similar name), or the folder is not a conda environment.
Result<std::filesystem::path> find_conda(const std::string& name, const Environment& environment,
                                         const std::string& host);

// Returns the path of the Python of a virtual environment. Error: the environment does not exist
// (with the most similar name), or `toprun setup` has not completed it.
Result<std::string> find_venv(const std::string& venv, const std::string& host);

// Parses the output of `env -0`. Error: an entry without "=".
Result<Environment> parse_environment(std::string_view text);

// Returns the module names in the output of `module -t avail`. Folders, headings and marks such as
// "(default)" are left out.
std::vector<std::string> parse_available_modules(std::string_view text);

}  // namespace toprun::plan
