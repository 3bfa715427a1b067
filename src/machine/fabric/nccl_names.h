#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun::fabric {

// Whether NCCL, RCCL or one of their network plugins reads this variable.
bool is_known_nccl_name(std::string_view name);

// The variables whose values are numbers, without NCCL_ and with a blank between. Documented limits
// follow the name: "IB_TC CROSS_NIC:0:2".
std::string_view nccl_numbers();

// Returns the known name that a mistyped name probably means. nullopt: more than two letters differ
// from each name.
std::optional<std::string> nearest_nccl_name(std::string_view name);

}  // namespace toprun::fabric
