#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::recorder {

inline constexpr std::size_t most_pickle_values = 4'000'000;
inline constexpr std::size_t most_pickle_depth = 64;

// Reads data in Python's pickle format, protocol 2 (Lib/pickletools.py of CPython). Accepts only
// the types in a flight-recorder dump: None, booleans, numbers, texts, lists, tuples (as lists),
// and dicts (numeric keys become texts). All other pickle opcodes are errors, because some of them
// name, call or build objects, and so could run any code.
Result<nlohmann::json> parse_pickle(std::string_view bytes);

}  // namespace toprun::recorder
