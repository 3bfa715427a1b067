#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::prefetch {

// A name for what `python` would import of `modules`: the same on all nodes that see the same
// environment, another one after a package was installed, and for another Python. It follows from
// the program, pyvenv.cfg, the names in the site-packages folders (of each package's version, too),
// conda's history and PYTHONPATH. Reads some files, so it may block. Empty: there is no such
// Python.
std::string key_of(const std::string& python, const Environment& environment,
                   const std::vector<std::string>& modules);

}  // namespace toprun::prefetch
