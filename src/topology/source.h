#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "topology/tree.h"

namespace toprun::topology {

// A node of the job and what its own environment says of its place; empty where it says nothing.
struct Member {
  std::string name;
  std::string address;  // SLURM_TOPOLOGY_ADDR
  std::string pattern;  // SLURM_TOPOLOGY_ADDR_PATTERN
};

struct Request {
  std::string topology = "auto";  // as --topology takes it: "auto", "slurm", "name:REGEX", a path
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

// Where the members are, under the members' names: of "auto" and "slurm" the sources are asked in
// turn until every member's place is known, and merged. An empty source in the answer: nothing is
// known ("auto" only). Errors: a file or source that was asked for by name and cannot be read or
// understood (file:line:column); evidence that contradicts itself (both pieces are named). What
// `auto` could not read is a warning.
Result<Map> locate(const Request& request);

}  // namespace toprun::topology
