#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/container.h"

namespace toprun::container {

// Returns the environment of a program in the container, which consists of:
//   - the image's variables;
//   - the host's variables that are useful in the container, if the image does not set them;
//   - an EDF's variables, in which ${NAME} is the image's value, else the host's.
// A variable named by --container-env has the host's value even if the image sets it. If
// --container-env names PATH or LD_LIBRARY_PATH, the variable has the host's folders, followed by
// the image's. A name in --container-env that ends in "*" matches all variables with that
// beginning.
Environment inside(const Environment& image, const Environment& host, const Request& request);

// Whether a variable of the host with this name is useful in a container. Variables are not useful
// if they describe the host's software (PATH, modules, compilers), session (display, shell, agent
// sockets) or locales, or configure a container runtime.
bool passes(std::string_view name);

inline constexpr std::size_t max_expanded_bytes = 1u << 20;

using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

// Replaces ${NAME} and ${NAME:-WORD}, and $$ by one dollar, like in EDF files; any other dollar is
// kept. Errors: a variable is not set and has no WORD; a closing brace is missing; the result has
// more than max_expanded_bytes.
Result<std::string> expand(std::string_view text, const Lookup& lookup);

}  // namespace toprun::container
