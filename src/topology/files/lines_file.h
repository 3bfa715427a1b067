#pragma once

#include <string>
#include <string_view>

#include "topology/tree.h"

namespace toprun::topology {

// One host per line: its name and its place, as Google Cloud's metadata attribute physical_host
// writes it: outermost domain first, last the host's own id, which is dropped.
//   # comment
//   n0      /c/b/0
//   n[1-3]  /c/a/x          a hostlist: several hosts in one rack
// or a table as `toprun topo order` and examples/topology.py print it, with a rank in front, a
// heading "rank hostname physical_host" above it and a title of words without "/" above that:
//   0       n2              /c/a/2
// An empty component ("/c//0") is an unknown level; "-", "unknown" or nothing in the place's stead
// an unknown place. All paths have the same number of levels: two are "cluster" and "rack", three
// "cluster", "block", "rack". Error (file:line:column): any other line; a path of another length
// than the first one's; a host twice, unless in two tables that say the same of it.
Result<Map> parse_lines_file(std::string_view text, const std::string& file);

}  // namespace toprun::topology
