#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/process/command.h"
#include "base/text/error.h"
#include "node/plan/options.h"

namespace toprun::plan {

struct Python {
  std::string path;
  std::string reason;  // why this Python was chosen, as in "beside /opt/venv/bin/toprun"
};

// Chooses the Python for the user's script: PYTHON_EXEC, else the first python3 or python in the
// folder of `argv0`, in $VIRTUAL_ENV/bin, in $CONDA_PREFIX/bin, or in PATH. Does not resolve links
// in `argv0`, so that a link in a virtual environment finds that environment. The error names
// `host` (this node's name) and every folder that was searched.
Result<Python> choose_python(
    const std::string& argv0, const Environment& environment, const std::string& host,
    const process::IsExecutable& is_executable = process::is_executable_file);

// Checks that the program in the options exists. A script must exist and, if it is a directory,
// contain a __main__.py. A program (--no-python) must be in PATH and executable. Modules are not
// checked, because only Python can find them. Errors have exit_usage and contain the path and the
// current directory.
Result<void> check_program(const Options& options, const Environment& environment);

// How much of a script's beginning is read for not_for_python().
inline constexpr std::size_t foreign_script_bytes = 64u << 10;

// Returns why Python cannot run this file; nullopt if the file may be a Python script. The reason
// is that the file is a program (ELF), or a script for another interpreter, according to its "#!"
// line or to a name such as x.sh. The error suggests the command line that the user probably meant.
// For a Slurm batch script, this command line has the #SBATCH lines as options. Pure.
std::optional<Error> not_for_python(const std::string& script, std::string_view beginning);

}  // namespace toprun::plan
