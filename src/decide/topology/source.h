#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/shared.h"
#include "decide/topology/tree.h"

namespace toprun::topology {

// A cloud's answer about a node's place, not parsed yet. If `text` and `trouble` are both empty,
// the cloud has no attribute for the place.
struct CloudEvidence {
  std::string cloud;                // "gcp", the --topology option
  std::optional<std::string> text;  // is_plain() in cloud.h accepts it
  std::string trouble;              // why there is no text
};

// The output of a program or the content of a file on a node, not parsed yet.
struct ProgramOutput {
  std::optional<std::string> text;
  std::string trouble;  // why there is no text
};

// A node of the job, with its own data about its place in the network. Empty fields: no data.
struct Member {
  std::string name;
  std::string address;                    // SLURM_TOPOLOGY_ADDR
  std::string pattern;                    // SLURM_TOPOLOGY_ADDR_PATTERN
  SharedOptional<CloudEvidence> cloud{};  // unset: no query to a cloud on this node
  SharedOptional<ProgramOutput>
      nvlink{};        // from nvidia-smi (nvlink.h); unset: nvidia-smi did not run on this node
  std::string node{};  // the name of its node in Kubernetes; empty: same as `name`
  SharedOptional<std::string> labels{};  // that node's labels (k8s_labels.h)
  SharedOptional<std::string> ports{};   // its InfiniBand ports (ports.h); unset: not read
};

// The time limit for each of the two steps of --topology auto. First step: during the join, each
// node collects its own data. Second step: after the join, the root's node runs further programs,
// all at the same time.
inline constexpr std::chrono::milliseconds auto_budget{1'000};
// The time limit for a program that --topology names.
inline constexpr std::chrono::milliseconds named_budget{5'000};

struct Request {
  std::string topology = "auto";  // the --topology option: see names_source(); else a file's path
  std::vector<Member> members;    // nodes of the job; empty: all nodes that the source knows
  Environment environment;        // of this process
  // True: the caller runs on a login node, outside a job, so `auto` queries this machine's Slurm.
  bool outside_of_jobs = false;
  // The time limit of one source; locate() sets it.
  std::chrono::milliseconds budget = named_budget;
};

enum class Speed {
  at_once,  // the data is available locally
  slow,     // runs another program, within Request::budget
};

// What `auto` does if a source returns an error.
enum class Fault {
  warning,  // `auto` warns and continues with the other sources
  final,    // the error is final, because the job's own data contradict each other
};

// A source of the members' places. To add a source, add a file with its parser and its `read`, and
// a row in sources.cc.
struct Source {
  std::string_view option;  // the --topology option for it: "slurm"; "" for a file's path
  std::string_view needs;   // the data that the source reads, for messages
  // Whether --topology auto should try this source on this machine.
  bool (*plausible)(const Request&);
  // Reads the source. nullopt: the source has no data here. May run in parallel with other sources'
  // `read`.
  Result<std::optional<Map>> (*read)(const Request&);
  Speed speed;
  Fault fault;
};

// Returns the words that --topology accepts besides a file's path: "auto", "slurm", "name:REGEX", …
std::vector<std::string> source_names();
// Whether `topology` is a word of source_names(). Every other text is a file's path.
bool names_source(std::string_view topology);

// Builds a map of the job's nodes (the members), with the members' names. Each value of --topology,
// such as slurm or k8s, stands for one or more sources, which are queried one after the other until
// every member's place is known. `auto` uses all plausible values. If slow sources are needed,
// those of all values run at the same time. The results of all values become one tree (nest.h). The
// NVLink domains that the nodes reported are added to every result. If two results contradict each
// other, the result of the source that comes first in the table of sources (sources.cc) counts, and
// there is a warning. Map::notes names the source of each fact. With `auto`, Map::source is empty
// if nothing is known. Errors: a requested file or source cannot be read or parsed
// (file:line:column); two pieces of evidence contradict each other (the message names both). With
// `auto`, unreadable evidence is a warning.
Result<Map> locate(Request request);

}  // namespace toprun::topology
