#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/process/program.h"
#include "base/text/error.h"

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

}  // namespace toprun::plan
