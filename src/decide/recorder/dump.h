#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::recorder {

// What PyTorch's flight recorder has written of one rank (torch/csrc/distributed/c10d/
// FlightRecorder.hpp, versions 2.x), in its pickle or its JSON form.

// The tensors that a call was given.
struct Tensors {
  std::vector<std::int64_t> elements;  // of each
  std::string sizes;                   // "[[3,4]]"
  std::string types;                   // each once, in order: "Float,Long"

  bool operator==(const Tensors&) const = default;
};

// A call of a collective, a send or a receive.
struct Entry {
  std::size_t group = 0;      // index in Dump::groups
  std::int64_t order = 0;     // of all calls of the rank
  std::int64_t sequence = 0;  // collective_seq_id: the first collective in a group is 1
  int part = 0;               // of several that NCCL starts at once under one number, from the last
  bool is_p2p = false;
  std::int64_t batch = 0;  // of sends and receives: those of one number are started at once
  int peer = -1;           // of a send or receive: the other's rank; -1: the dump does not tell it
  bool sends = false;      // … or receives
  std::string operation;   // "nccl:all_reduce", "nccl:recv 1<-0"
  Tensors inputs, outputs;
  bool has_ended = false;

  bool operator==(const Entry&) const = default;
};

// One process group of the rank. `pg_status` and `pg_id` go by a counter of the process, which is
// another one on each rank; the name is the same on all. After a destroy_process_group of all
// groups names are given again.
struct Group {
  std::string name, description;  // "0", "default_pg"
  std::vector<int> members;       // in the group's order; empty: the dump does not tell them
  int generation = 1;             // so many default groups have been made until then
  bool is_doubtful = false;       // there are several of this name and generation

  bool operator==(const Group&) const = default;
};

// What a recorder has kept of the calls.
enum class Memory {
  all,
  newest,  // a ring that was full: a group whose last call is there is known
  some,    // not even that: those that have not ended, or no call at all
};

struct Dump {
  std::string version;
  Memory memory = Memory::all;
  std::vector<Group> groups;
  std::vector<Entry> entries;  // in their order

  bool operator==(const Dump&) const = default;
};

// The group of all ranks.
bool is_default(const std::string& name, const std::string& description);

Result<Dump> parse_dump(std::string_view bytes);

}  // namespace toprun::recorder
