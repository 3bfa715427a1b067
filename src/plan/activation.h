#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::plan {

inline constexpr std::chrono::seconds modules_limit{60};     // for loading all of them
inline constexpr std::chrono::seconds before_limit{300};     // for a command of the user's
inline constexpr std::chrono::seconds activation_limit{30};  // for a conda environment's scripts

// What the user wants the workers' environment to be made of, on every node anew: the modules are
// loaded, the command is run, the conda or virtual environment is entered, the variables are set,
// in this order.
struct Activation {
  std::vector<std::string> modules = {};  // "cuda/12.4", as `module load` takes them
  std::string before = {};                // for bash, as "source /opt/site.sh"; empty: none
  std::string conda = {};                 // a name, or a folder if it has a slash; empty: none
  std::string venv = {};                  // a folder; empty: none. Not beside `conda`
  // A variable without a value has the one that toprun was started with.
  std::vector<std::pair<std::string, std::optional<std::string>>> variables = {};

  bool empty() const {
    return modules.empty() && before.empty() && conda.empty() && venv.empty() && variables.empty();
  }
};

struct Activated {
  Environment environment;
  std::optional<std::string> python;  // of the virtual or conda environment
  std::string python_reason;          // "--venv"
  std::string note;                   // what was loaded unasked, and why; may be empty
};

// Runs a shell where modules, a command or scripts of a conda environment ask for one. Errors name
// `host` and what is not there: no module command, a module that was not loaded (with the nearest
// name), a command that failed, no such environment, one without a Python (venv).
//
// A virtual environment that `toprun setup` has built (setup/record.h) is used with the modules
// that it was built with: they are loaded where `wanted` has none. Errors: its setup has not ended
// well, it was built for another architecture, or (exit_usage) `wanted` loads others.
Result<Activated> activate(const Activation& wanted, const Environment& environment,
                           const std::string& host);

// The folder of a conda environment: the first `NAME` in the folders of CONDA_ENVS_PATH, of the
// conda that is installed (CONDA_EXE, MAMBA_ROOT_PREFIX), of ~/.conda and of the usual
// installations below the home; "base" is the installation itself. Error: none (with the nearest
// name), no conda environment there.
Result<std::filesystem::path> find_conda(const std::string& name, const Environment& environment,
                                         const std::string& host);

// The Python of a virtual environment. Error: there is none (with the nearest name), or its setup
// has not ended well.
Result<std::string> find_venv(const std::string& venv, const std::string& host);

// Variables as `env -0` prints them. Error: an entry without "=".
Result<Environment> parse_environment(std::string_view text);

// The names that `module -t avail` prints: folders, headings and marks left out.
std::vector<std::string> parse_available_modules(std::string_view text);

}  // namespace toprun::plan
