#pragma once

#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/queue.h"
#include "engines/runai/command_lines.h"

namespace toprun::engines::runai {

// Parsers for runai's output about nodes and projects; pure functions. Values that are missing or
// of another type stay unset. Error: the text has another form; the message shows its beginning.
//
// v1's `list nodes`: groups of columns between │, the first begins with NAME and STATUS
// and that of the GPUs has ALLOCATABLE and FREE (runai-cli, cmd/node/list_node.go,
// pkg/types/node.go). v2's `node list --json`: nodes as in the API (api-docs.run.ai, Nodes: name,
// nodePool, status, gpuInfo), which says not which GPUs are in use.
Result<std::vector<ClusterNode>> parse_nodes(std::string_view text, Cli cli);

// v1's `list projects`: PROJECT, DEPARTMENT, DESERVED GPUs (cmd/project/list.go). v2's `project
// list --json`: projects as in the API (Projects: name, resources of each pool with their
// gpu.deserved).
Result<std::vector<AdmissionQueue>> parse_projects(std::string_view text, Cli cli);

}  // namespace toprun::engines::runai
