#pragma once

#include <string_view>

#include "base/os/environment.h"
#include "machine/container/container.h"

namespace toprun::container {

// What a program inside gets: the image's variables, those of the host that mean something inside
// too and that the image does not set, and an EDF's, in which ${NAME} is the image's value, else
// the host's. A variable that --container-env names has the host's value whatever the image says
// (of PATH and LD_LIBRARY_PATH: the host's folders, then the image's); a name ending in "*" stands
// for all that begin with it.
Environment inside(const Environment& image, const Environment& host, const Wanted& wanted);

// Whether this variable of the host means something inside: false for what describes the host's
// software (PATH, modules, compilers), its session (display, shell, agent sockets), its locales, or
// is a setting of a container runtime.
bool passes(std::string_view name);

}  // namespace toprun::container
