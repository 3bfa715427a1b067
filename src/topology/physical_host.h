#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "topology/tree.h"

namespace toprun::topology {

// "/cluster/rack" as a path, outermost domain first; an empty component is an unknown level. Error:
// what is wrong with the text.
std::expected<Path, std::string> parse_domains(std::string_view text);

// Google Cloud's physical_host, "/cluster/rack/host": the same with the host's own id behind it,
// which is dropped.
std::expected<Path, std::string> parse_physical_host(std::string_view text);

// Names for so many levels above a host where a source has none: "rack"; "cluster", "rack"; …
std::vector<std::string> physical_level_names(std::size_t count);

}  // namespace toprun::topology
