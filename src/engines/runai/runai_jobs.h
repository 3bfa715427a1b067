#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/queue.h"
#include "engines/runai/command_lines.h"

namespace toprun::engines::runai {

// Where a column begins and ends in a table that runai v1 prints with Go's text/tabwriter. At least
// two blanks separate the names in the header; a column begins where its name begins.
struct Column {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<Column> column(std::string_view header, std::string_view name);

// Returns the line's text in the column; "" if the column is missing.
std::string cell(std::string_view line, const std::optional<Column>& column);

// Returns the error for runai output in an unexpected form. `requested`: what was expected, such as
// "a table". The error quotes the output's beginning.
std::unexpected<Error> not_understood(std::string_view text, std::string_view requested,
                                      std::string fix);

// Parsers for runai's output about jobs; pure functions. A field of the result stays unset if
// runai's output lacks its value or has it in another type. Error: the output has an unexpected
// form; the message shows how it begins.

// Parses v1's `list jobs`: a table whose header names the columns (runai-cli, cmd/job/job_list.go).
Result<std::vector<Job>> parse_table(std::string_view text);
// Parses v2's `list --json`: {"workloads": [{"name", "phase", "projectName", …}]}, fields as in the
// API (api-docs.run.ai, Workloads).
Result<std::vector<Job>> parse_list(std::string_view text);
// Parses `describe … -o json` of v1 ({"name", "status", "instances": [{"name", "status", "node"}]};
// runai-cli, pkg/types/training.go) and of v2 ({"general": {"name", "phase", "createdAt",
// "updatedAt"}, "podsInfo": {"pods": [{"name", "nodeName"}]}}). Both outputs describe one job.
Result<Job> parse_description(std::string_view text);

// Returns the message of the last warning among the events that v1's `describe job` prints for
// users. An event is a line SOURCE TYPE AGE MESSAGE, such as "pod/train-worker-0  Warning  5s
// [FailedScheduling] 0/4 nodes …". Empty: there is no warning.
std::string last_warning(std::string_view description);

// Returns the pods in the output that parse_description() reads, the master first. v1 reports their
// "status", v2 does not.
Result<std::vector<JobPod>> parse_pods(std::string_view text);

// Returns an explanation of a job's state; empty: `state_word` explains itself.
std::string_view state_words(std::string_view state_word);

// Parsers for runai's output about nodes and projects; pure functions. A field of the result stays
// unset if runai's output lacks its value or has it in another type. Error: the output has an
// unexpected form; the message shows how it begins.

// Parses the list of nodes. v1's `list nodes` prints groups of columns with │ between them. The
// first group begins with NAME and STATUS; the GPUs' group has ALLOCATABLE and FREE (runai-cli,
// cmd/node/list_node.go, pkg/types/node.go). v2's `node list --json` prints nodes as in the API
// (api-docs.run.ai, Nodes: name, nodePool, status, gpuInfo). v2 does not report which GPUs are in
// use.
Result<std::vector<ClusterNode>> parse_nodes(std::string_view text, Cli cli);

// Parses the list of projects. v1's `list projects` prints PROJECT, DEPARTMENT, DESERVED GPUs
// (cmd/project/list.go). v2's `project list --json` prints projects as in the API (Projects: name,
// and for each pool its resources with gpu.deserved).
Result<std::vector<AdmissionQueue>> parse_projects(std::string_view text, Cli cli);

}  // namespace toprun::engines::runai
