#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::runai {

// Run:AI has two programs named runai, whose command lines have little in common.
//   v1  `runai submit-dist pytorch`: run-ai/runai-cli, and run-ai/docs,
//       docs/Researcher/cli-reference/runai-submit-dist-pytorch.md (2.10 and later)
//   v2  `runai training pytorch submit`, beside clusters from 2.18 on: run-ai/docs,
//       docs/Researcher/cli-reference/new-cli/runai_training_pytorch_*.md; newer ones at
//       docs.nvidia.com/run-ai (3.0), with more flags and numbers that have to be positive
enum class Cli { v1, v2 };

// By what `runai version` prints: v1's lines begin with "Version: 2.13.6" and "GitCommit: …".
Cli cli_of(std::string_view version);

using Words = std::vector<std::string>;

// A project of Run:AI's; empty: the one that `runai config project` or `project set` has chosen.
struct Client {
  Cli cli = Cli::v2;
  std::string project;
  // What v2's `submit --help` lists; unset: its flags are those of the newest.
  std::optional<std::string> help = {};

  bool has(std::string_view flag) const;
};

// Prints the flags that this v2 has for a submission.
Words help_command();

// The command that submits this job of pods; pure. Of the pods one is the master, the others are
// workers. Error (exit 2): the program has no option for something that the job asks for.
Result<Words> submit_command(const Client& client, const kubernetes::Workload& job);

// The commands that ask for and end jobs.
Words list_command(const Client& client, bool of_all_projects);
Words describe_command(const Client& client, const std::string& job);  // prints JSON
Words events_command(const Client& client, const std::string& job);    // v1: prints what happened
// The commands that ask what the cluster has.
Words nodes_command(const Client& client);
Words projects_command(const Client& client);
Words delete_command(const Client& client, const std::string& job);
// The output of one pod; without a pod of the master.
Words logs_command(const Client& client, const std::string& job,
                   const std::optional<std::string>& pod, bool follow);
// Runs the words in a pod; without a pod in the master.
Words exec_command(const Client& client, const std::string& job,
                   const std::optional<std::string>& pod, bool terminal, const Words& words);

// Whether the word reaches a pod unchanged whatever runai and kubelet do with quotes, blanks,
// commas and $: it has none of them.
bool is_plain(std::string_view word);

}  // namespace toprun::engines::runai
