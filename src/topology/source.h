#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/rare.h"
#include "topology/tree.h"

namespace toprun::topology {

// What a node's cloud answered when the node asked for its own place, not understood yet. Neither
// text nor trouble: the cloud knows no such attribute.
struct CloudEvidence {
  std::string cloud;                // "gcp", as --topology names it
  std::optional<std::string> text;  // plain (cloud.h)
  std::string trouble;              // why there is no text, in words
};

// What a program or a file on a node said, not understood yet.
struct Told {
  std::optional<std::string> text;
  std::string trouble;  // why there is no text, in words
};

// A node of the job and what its own environment says of its place; empty where it says nothing.
struct Member {
  std::string name;
  std::string address;          // SLURM_TOPOLOGY_ADDR
  std::string pattern;          // SLURM_TOPOLOGY_ADDR_PATTERN
  Rare<CloudEvidence> cloud{};  // unset: no cloud was asked there
  Rare<Told> nvlink{};          // of nvidia-smi (nvlink.h); unset: it was not asked there
  std::string node{};           // the name of its node in Kubernetes; empty: as `name`
  Rare<std::string> labels{};   // of that node (k8s_labels.h)
  Rare<std::string> ports{};    // its InfiniBand ports (ports.h); unset: nobody looked
};

// For all that `auto` waits for: every node's own evidence within the join, and then what the
// root's node asks other programs, those all at once.
inline constexpr std::chrono::milliseconds auto_budget{1'000};
// For a program that --topology names.
inline constexpr std::chrono::milliseconds named_budget{5'000};

struct Request {
  std::string topology = "auto";  // as --topology takes it: see names_source(); else a file's path
  std::vector<Member> members;    // nodes of the job; empty: everything that the source knows
  Environment environment;        // of this process
  // Asked on a login node, not in a job: `auto` takes the Slurm of this machine for the job's.
  bool outside_of_jobs = false;
  // How long a source may take: locate() sets it.
  std::chrono::milliseconds budget = named_budget;
};

enum class Speed {
  at_once,  // it is at hand
  slow,     // another program is asked: within Request::budget
};

// What an error of a source means to `auto`.
enum class Fault {
  passed_over,  // a warning, the others are asked
  final,        // a contradiction in the job itself
};

// One kind of evidence. To add one: a file with its parser and its `read`, and a row in sources.cc.
struct Source {
  std::string_view option;  // the --topology that asks for it: "slurm"; "" for a file's path
  std::string_view needs;   // what it reads, for people
  // Whether --topology auto should try it here.
  bool (*plausible)(const Request&);
  // nullopt: there is none here. May run beside other sources' `read`.
  Result<std::optional<Map>> (*read)(const Request&);
  Speed speed;
  Fault fault;
};

// The words that --topology takes besides a file's path: "auto", "slurm", "name:REGEX", …
std::vector<std::string> source_names();
// Whether it is one of them; else it is a file's path.
bool names_source(std::string_view topology);

// Where the members are, under the members' names. Rows of one option are asked in turn until every
// member's place is known; the slow ones of all options that are still needed start together. What
// the options tell becomes one tree (nest.h): `auto` takes all that are plausible, and what NVLink
// domains the nodes told of goes with whatever was asked for. Where two contradict each other the
// one that stands first in the table is believed, and a warning says so; Map::notes say who told
// what. An empty source in the answer: nothing is known ("auto" only). Errors: a file or source
// that was asked for by name and cannot be read or understood (file:line:column); evidence that
// contradicts itself (both pieces are named). What `auto` could not read is a warning.
Result<Map> locate(Request request);

}  // namespace toprun::topology
