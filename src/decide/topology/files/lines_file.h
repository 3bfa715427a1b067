#pragma once

#include <string>
#include <string_view>

#include "decide/topology/tree.h"

namespace toprun::topology {

// Whether the word is a label such as "3:", which `srun -l` writes before each line: the task's
// number.
bool is_task_label(std::string_view word);

// Parses a text with one host per line: the host's name and place. The place has the form of Google
// Cloud's metadata attribute physical_host: the outermost domain comes first; the last part is the
// host's own id and is dropped.
//   # comment
//   n0      /c/b/0
//   n[1-3]  /c/a/x          a hostlist: several hosts in one rack
//   3: n4   /c/a/y          with the label of `srun -l`; a host may then occur several times
// The text may also be a table as printed by `toprun topo order` and examples/topology.py. Its
// lines start with a rank. The table may have a heading "rank hostname physical_host" and a title
// of words without "/":
//   0       n2              /c/a/2
// An empty component, as in "/c//0", is an unknown level. If the place is "-", "unknown" or
// missing, all its levels are unknown. All paths have the same number of levels: two levels are
// "cluster", "rack", three are "cluster", "block", "rack". Errors (file:line:column): any other
// line; a path whose length differs from the first path; a duplicate host (allowed: the same host
// with the same place in two tables).
Result<Map> parse_lines_file(std::string_view text, const std::string& file);

}  // namespace toprun::topology
