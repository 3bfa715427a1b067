#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::container {

inline constexpr std::size_t max_expanded_bytes = 1u << 20;

using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

// Replaces ${NAME} and ${NAME:-WORD}, and $$ by one dollar, like in EDF files; any other dollar is
// kept. Errors: a variable is not set and has no WORD; a closing brace is missing; the result has
// more than max_expanded_bytes.
Result<std::string> expand(std::string_view text, const Lookup& lookup);

}  // namespace toprun::container
