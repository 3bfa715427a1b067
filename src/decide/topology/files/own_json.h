#pragma once

#include <string>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/tree.h"

namespace toprun::topology {

// Whether toprun printed this JSON document: the key "schema" shows it.
bool is_own_json(const DataNode& root);

// Reads the output of `toprun topo order --json` (toprun.topo_order/1) and `toprun topo show
// --json` (toprun.topo_show/1). The map has the levels and the hosts' places in that output. Errors
// (file:line:column): an object with another schema, which has no places; a value of a wrong type;
// a level that is not in "levels"; a duplicate host.
Result<Map> map_of_own_json(const DataNode& root, const std::string& file);

// Whether this is DLRover's table of groups, {"HOST": "outer/inner", …}, the output of `toprun topo
// order --format dlrover`.
bool is_group_table(const DataNode& root);
Result<Map> map_of_group_table(const DataNode& root, const std::string& file);

}  // namespace toprun::topology
