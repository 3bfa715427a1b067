#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::runai {

// Run:AI has two programs named runai, with very different command lines.
//   v1  `runai submit-dist pytorch`: run-ai/runai-cli, and run-ai/docs,
//       docs/Researcher/cli-reference/runai-submit-dist-pytorch.md (2.10 and later)
//   v2  `runai training pytorch submit`, with clusters from 2.18 on: run-ai/docs,
//       docs/Researcher/cli-reference/new-cli/runai_training_pytorch_*.md; newer versions at
//       docs.nvidia.com/run-ai (3.0), with more flags and with numbers that have to be positive
enum class Cli { v1, v2 };

// Reads the output of `runai version`: v1 prints "Version: 2.13.6" and "GitCommit: …".
Cli cli_of(std::string_view version);

using Words = std::vector<std::string>;

// The version of the program runai, and the Run:AI project of the jobs. An empty project stands for
// the project that `runai config project` or `project set` selected.
struct Client {
  Cli cli = Cli::v2;
  std::string project;
  // The output of v2's `submit --help`; unset: assume the flags of the newest version.
  std::optional<std::string> help = {};

  bool has(std::string_view flag) const;
};

// Returns advice for an error message: how runai passes a secret without showing it.
std::string instead_of_a_secret(const Client& client, std::string_view name);

// Returns v2's command that prints the help of `submit`, in which all flags are listed.
Words help_command();

// Returns the command that submits this job of pods; pure function. One pod is the master, and the
// others are workers. Error (exit 2): `job` requests something for which this version of runai has
// no option.
Result<Words> submit_command(const Client& client, const kubernetes::Workload& job);

// These functions return the commands that query and end jobs.
Words list_command(const Client& client, bool of_all_projects);
Words describe_command(const Client& client, const std::string& job);  // prints JSON
Words events_command(const Client& client, const std::string& job);    // only v1: prints events
// These functions return the commands that query the cluster's nodes and projects.
Words nodes_command(const Client& client);
Words projects_command(const Client& client);
Words delete_command(const Client& client, const std::string& job);
// Returns the command that prints the output of one pod; without `pod`, of the master pod.
Words logs_command(const Client& client, const std::string& job,
                   const std::optional<std::string>& pod, bool follow);
// Returns the command that runs `words` in a pod; without `pod`, in the master pod.
Words exec_command(const Client& client, const std::string& job,
                   const std::optional<std::string>& pod, bool terminal, const Words& words);

// Whether the word contains no quotes, blanks, commas or $. Such a word reaches a pod unchanged,
// regardless of how runai and kubelet treat these characters.
bool is_plain(std::string_view word);

}  // namespace toprun::engines::runai
