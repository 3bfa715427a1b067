#pragma once

#include <functional>
#include <string>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::launch {

using IsExecutable = std::function<bool(const std::string& path)>;

// A regular file that this process may execute (access(2)); links are followed.
bool is_executable_file(const std::string& path);

// Where execvp(3) would find `name`: itself if it has a slash, else in the directories of PATH (of
// glibc's default where PATH is not set). Empty if there is none.
std::string find_in_path(const std::string& name, const Environment& environment,
                         const IsExecutable& is_executable = is_executable_file);

struct Python {
  std::string path;
  std::string reason;  // in the user's words, as in "beside /opt/venv/bin/toprun"
};

// The Python that runs the user's script: PYTHON_EXEC; else python3 or python beside the path that
// we were called by (`argv0`; its links are not resolved, so that a link in a virtual environment
// finds that environment), in $VIRTUAL_ENV/bin, in $CONDA_PREFIX/bin, in PATH. The error names
// `host`, the name of this node, and every place looked at.
Result<Python> choose_python(const std::string& argv0, const Environment& environment,
                             const std::string& host,
                             const IsExecutable& is_executable = is_executable_file);

}  // namespace toprun::launch
