#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::container {

inline constexpr std::size_t max_expanded_bytes = 1u << 20;

using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

// ${NAME} and ${NAME:-WORD} replaced, $$ for one dollar, as EDF files have it; any other dollar
// stays. Errors: a variable that is not set and has no word, no closing brace, more than
// max_expanded_bytes.
Result<std::string> expand(std::string_view text, const Lookup& lookup);

}  // namespace toprun::container
