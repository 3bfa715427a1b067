#pragma once

#include <string>

#include "topology/files/data_tree.h"
#include "topology/tree.h"

namespace toprun::topology {

// Whether a document of JSON is one that toprun printed: it says so in "schema".
bool is_own_json(const DataNode& root);

// What `toprun topo order --json` (toprun.topo_order/1) and `toprun topo show --json`
// (toprun.topo_show/1) print, read back: the same places in the same levels.
// Error (file:line:column): an object of another schema, which has no places; a value of another
// type; a level that "levels" does not name; a host twice.
Result<Map> map_of_own_json(const DataNode& root, const std::string& file);

// DLRover's table of groups, {"HOST": "outer/inner", …}, as `topo order --format dlrover` prints
// it.
bool is_group_table(const DataNode& root);
Result<Map> map_of_group_table(const DataNode& root, const std::string& file);

}  // namespace toprun::topology
