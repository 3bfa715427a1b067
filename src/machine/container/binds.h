#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "machine/container/container.h"

namespace toprun::container {

// Parses SRC[:DST[:ro|rw]], the value of --bind; without DST, SRC is mounted at its own path. SRC
// may be relative, see make_absolute(). Errors (exit_usage): empty text, DST relative or "/", an
// unknown word after DST.
Result<Bind> parse_bind(std::string_view text);

// The binds that need no option: the project's folder at its own path. Empty for "/" and for
// folders that every image contains (/usr, /etc …), because the bind would hide the image's folder.
std::vector<Bind> default_binds(std::string_view folder);

// Sorts the binds for a runtime: a target comes before the targets inside it, so that no bind hides
// another. Of several binds with one target, only the last is kept.
std::vector<Bind> in_order(std::span<const Bind> binds);

}  // namespace toprun::container
