#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/process/program.h"
#include "base/text/error.h"

namespace toprun::plan {

struct Python {
  std::string path;
  std::string reason;  // in the user's words, as in "beside /opt/venv/bin/toprun"
};

// The Python for the user's script: PYTHON_EXEC; else python3 or python in the folder of `argv0`
// (its links are not resolved, so that a link in a virtual environment finds that environment), in
// $VIRTUAL_ENV/bin, in $CONDA_PREFIX/bin, in PATH. The error names `host`, the name of this node,
// and every folder that was searched.
Result<Python> choose_python(
    const std::string& argv0, const Environment& environment, const std::string& host,
    const process::IsExecutable& is_executable = process::is_executable_file);

}  // namespace toprun::plan
