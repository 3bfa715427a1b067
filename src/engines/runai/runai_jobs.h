#pragma once

#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/queue.h"

namespace toprun::engines::runai {

// Parsers for runai's output about jobs; pure functions. Values that are missing or of another type
// stay unset. Error: the text has another form; the message shows its beginning.
//
// v1's `list jobs`: a table whose header names the columns (runai-cli, cmd/job/job_list.go).
Result<std::vector<Job>> parse_table(std::string_view text);
// v2's `list --json`: {"workloads": [{"name", "phase", "projectName", …}]}, fields as in the API
// (api-docs.run.ai, Workloads).
Result<std::vector<Job>> parse_list(std::string_view text);
// `describe … -o json` of v1 ({"name", "status", "instances": [{"name", "status", "node"}]};
// runai-cli, pkg/types/training.go) and of v2 ({"general": {"name", "phase", "createdAt",
// "updatedAt"}, "podsInfo": {"pods": [{"name", "nodeName"}]}}). Both outputs describe one job.
Result<Job> parse_description(std::string_view text);

// The message of the last warning among the events that v1's `describe job` prints for users. An
// event is a line SOURCE TYPE AGE MESSAGE, such as "pod/train-worker-0  Warning  5s
// [FailedScheduling] 0/4 nodes …". Empty: there is no warning.
std::string last_warning(std::string_view description);

// The pods in the same output, the master first. v1 reports their "status", v2 does not.
Result<std::vector<JobPod>> parse_pods(std::string_view text);

// An explanation of a job's state; empty: the word needs no explanation.
std::string_view state_words(std::string_view state_word);

}  // namespace toprun::engines::runai
