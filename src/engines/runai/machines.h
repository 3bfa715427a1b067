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
// v1's `list nodes` prints groups of columns between │. The first group begins with NAME and
// STATUS; the GPUs' group has ALLOCATABLE and FREE (runai-cli, cmd/node/list_node.go,
// pkg/types/node.go). v2's `node list --json` prints nodes as in the API (api-docs.run.ai, Nodes:
// name, nodePool, status, gpuInfo). v2 does not report which GPUs are in use.
Result<std::vector<ClusterNode>> parse_nodes(std::string_view text, Cli cli);

// v1's `list projects` prints PROJECT, DEPARTMENT, DESERVED GPUs (cmd/project/list.go). v2's
// `project list --json` prints projects as in the API (Projects: name, and for each pool its
// resources with gpu.deserved).
Result<std::vector<AdmissionQueue>> parse_projects(std::string_view text, Cli cli);

}  // namespace toprun::engines::runai
