#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"

namespace toprun::prefetch {

// A name for the files that `python` would import for `modules`. The name is the same on all nodes
// that see the same environment. The name changes if a package is installed, and is different for
// another Python. The name is made from the program, pyvenv.cfg, the names in the site-packages
// folders (which contain each package's version), conda's history and PYTHONPATH. Reads some files,
// so key_of() may block. Empty: there is no such Python.
std::string key_of(const std::string& python, const Environment& environment,
                   const std::vector<std::string>& modules);

// The text of node/prepare/prefetch/probe.py.
extern const std::string_view probe;

}  // namespace toprun::prefetch
