#pragma once

#include <string_view>
#include <vector>

#include "decide/topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_rule_bytes = 1024;

// Derives places from the site's node names with a regular expression (pcre2syntax(3)). The
// expression's named groups are the levels, outermost first: from p1r07n3,
// "(?<pod>p\d+)r(?<rack>\d+)" derives pod p1 and rack 07. A regex group with the name host or node
// is not a level. If a name does not match, the place of this host is unknown. If a regex group did
// not take part in the match, its level is unknown. Errors: an invalid expression; no named group
// for a level; no match for any name; matching a name takes too many steps.
Result<Map> map_of_names(std::string_view rule, const std::vector<Member>& members);

// Reads the source `--topology name:REGEX`.
Result<std::optional<Map>> read_name_rule(const Request& request);

}  // namespace toprun::topology
