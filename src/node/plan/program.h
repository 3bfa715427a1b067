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

// The Python for the user's script. The first choice is PYTHON_EXEC. The next is python3 or python
// in the folder of `argv0`, in $VIRTUAL_ENV/bin, in $CONDA_PREFIX/bin, or in PATH. Links in `argv0`
// are not resolved, so that a link in a virtual environment finds that environment. The error names
// `host` (this node's name) and every folder that was searched.
Result<Python> choose_python(
    const std::string& argv0, const Environment& environment, const std::string& host,
    const process::IsExecutable& is_executable = process::is_executable_file);

// Checks that the program in the options exists. A script must exist and, if it is a directory,
// contain a __main__.py. A program (--no-python) must be in PATH and executable. Modules are not
// checked, because only Python can find them. Errors have exit_usage and contain the path and the
// current directory.
Result<void> check_program(const Options& options, const Environment& environment);

// The size of the beginning that is examined.
inline constexpr std::size_t foreign_script_bytes = 64u << 10;

// Why Python cannot run this file, judged by its beginning: the file is a program (ELF), or a
// script for another interpreter, according to its "#!" line or to a file name such as x.sh. The
// fix in the error is the command line that the user probably meant. For a Slurm batch script, this
// command line has the #SBATCH lines as options. nullopt: the file may be a Python script. Pure.
std::optional<Error> not_for_python(const std::string& script, std::string_view beginning);

}  // namespace toprun::plan
