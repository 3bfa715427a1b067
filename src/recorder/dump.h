#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace toprun::recorder {

// What PyTorch's flight recorder has written of one rank (torch/csrc/distributed/c10d/
// FlightRecorder.hpp, versions 2.x), in its pickle or its JSON form.

// A call of a collective.
struct Entry {
  std::string group;           // the process group's id
  std::int64_t sequence = 0;   // collective_seq_id: the first call in a group is 1
  std::string operation;       // "nccl:all_reduce"
  std::string sizes;           // of inputs and outputs: "[[3,4]] -> [[3,4]]"
  std::string types;           // "[\"Float\"] -> [\"Float\"]"
  std::string state;           // scheduled, started, completed
  bool retired = false;        // its end was seen
  std::string function, file;  // of the innermost frame, where frames were recorded
  int line = 0;

  bool operator==(const Entry&) const = default;
};

struct Group {
  std::string description;                                                  // "default_pg"
  std::vector<int> ranks;                                                   // empty: not told
  std::int64_t last_enqueued = -1, last_started = -1, last_completed = -1;  // sequences; -1: none

  bool operator==(const Group&) const = default;
};

struct Dump {
  std::string version;
  std::map<std::string, Group> groups;  // by id
  std::vector<Entry> entries;           // collectives; sends and receives are left out

  bool operator==(const Dump&) const = default;
};

Result<Dump> parse_dump(std::string_view bytes);

}  // namespace toprun::recorder
