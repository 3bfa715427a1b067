#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "topology/tree.h"

namespace toprun::topology {

// What a node's cloud answered when the node asked for its own place, not understood yet. Neither
// text nor trouble: the cloud knows no such attribute.
struct CloudEvidence {
  std::string cloud;                // "gcp", as --topology names it
  std::optional<std::string> text;  // plain (cloud.h)
  std::string trouble;              // why there is no text, in words
};

// A node of the job and what its own environment says of its place; empty where it says nothing.
struct Member {
  std::string name;
  std::string address;                   // SLURM_TOPOLOGY_ADDR
  std::string pattern;                   // SLURM_TOPOLOGY_ADDR_PATTERN
  std::optional<CloudEvidence> cloud{};  // unset: no cloud was asked there
};

struct Request {
  std::string topology = "auto";  // as --topology takes it: see names_source(); else a file's path
  std::vector<Member> members;    // nodes of the job; empty: everything that the source knows
  Environment environment;        // of this process
};

// One kind of evidence. To add one: a file with its parser and its `read`, and a row in sources.cc.
struct Source {
  std::string_view option;  // the --topology that asks for it: "slurm"; "" for a file's path
  std::string_view needs;   // what it reads, for people
  // Whether --topology auto should try it here.
  bool (*plausible)(const Request&);
  // nullopt: there is none here. May block for as long as the source's own file says.
  Result<std::optional<Map>> (*read)(const Request&);
  // An error of this source is a contradiction in the job itself, which `auto` must not pass over.
  bool binding;
};

// The words that --topology takes besides a file's path: "auto", "slurm", "name:REGEX", …
std::vector<std::string> source_names();
// Whether it is one of them; else it is a file's path.
bool names_source(std::string_view topology);

// Where the members are, under the members' names: the sources that `topology` asks for are asked
// in turn until every member's place is known, and merged. `auto` asks a cloud only if no engine
// knows any level of the network. An empty source in the answer: nothing is
// known ("auto" only). Errors: a file or source that was asked for by name and cannot be read or
// understood (file:line:column); evidence that contradicts itself (both pieces are named). What
// `auto` could not read is a warning.
Result<Map> locate(const Request& request);

}  // namespace toprun::topology
