#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun::fabric {

// Whether NCCL, RCCL or one of their network plugins reads this variable.
bool is_known_nccl_name(std::string_view name);

// Returns the known name that a mistyped name probably means.
std::optional<std::string> nearest_nccl_name(std::string_view name);

}  // namespace toprun::fabric
