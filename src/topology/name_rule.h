#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_rule_bytes = 1024;
inline constexpr std::uint32_t max_rule_steps = 100'000;  // for one name

// What a site's node names say, by a regular expression (pcre2syntax(3)) with named groups,
// outermost domain first: "(?<pod>p\d+)r(?<rack>\d+)" makes of p1r07n3 pod p1 and rack 07. A group
// called host or node is no level. A name that does not match is in an unknown place, a group that
// takes no part an unknown level. Error: an expression that is none, that has no such group, that
// matches no name at all, or that takes too many steps on one.
Result<Map> map_of_names(std::string_view rule, const std::vector<Member>& members);

// --topology name:REGEX
Result<std::optional<Map>> read_name_rule(const Request& request);

}  // namespace toprun::topology
