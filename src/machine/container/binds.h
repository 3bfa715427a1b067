#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "machine/container/container.h"

namespace toprun::container {

// SRC[:DST[:ro|rw]] as --bind takes it; without DST it stands at its own path. SRC may be relative,
// see settle(). Errors (exit_usage): empty, DST relative or "/", an unknown word after it.
Result<Bind> parse_bind(std::string_view text);

// What is bound without a word of the user: the project's folder at its own path. None for "/" and
// folders that every image has of its own (/usr, /etc …), which would hide the image's.
std::vector<Bind> default_binds(std::string_view folder);

// The binds as every runtime gets them: outer targets before inner ones, so that none hides
// another, and of several at one target the last.
std::vector<Bind> in_order(std::span<const Bind> binds);

}  // namespace toprun::container
