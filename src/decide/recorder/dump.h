#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::recorder {

// The dump that PyTorch's flight recorder writes for one rank, as pickle or JSON
// (torch/csrc/distributed/c10d/FlightRecorder.hpp, versions 2.x).

// The tensors that were passed to a call.
struct Tensors {
  std::vector<std::int64_t> elements;  // of each tensor
  std::string sizes;                   // "[[3,4]]"
  std::string types;                   // each type once, in order: "Float,Long"

  bool operator==(const Tensors&) const = default;
};

// One call on a rank: a collective, a send or a receive.
struct Entry {
  std::size_t group = 0;      // index in Dump::groups
  std::int64_t order = 0;     // index among all calls of the rank
  std::int64_t sequence = 0;  // collective_seq_id: the first collective in a group has 1
  int part = 0;               // index among the calls that NCCL started under one sequence number,
                              // counted from the last
  bool is_p2p = false;
  std::int64_t batch = 0;  // sends and receives with the same number are started together
  int peer = -1;           // for a send or receive: the other rank; -1: not in the dump
  bool sends = false;      // true: a send; false: a receive
  std::string operation;   // "nccl:all_reduce", "nccl:recv 1<-0"
  Tensors inputs, outputs;
  bool has_ended = false;

  bool operator==(const Entry&) const = default;
};

// One of the rank's process groups. `pg_status` and `pg_id` use a per-process counter, which
// differs between ranks; the name is the same on all ranks. After destroy_process_group() of all
// groups, PyTorch uses the same names again.
struct Group {
  std::string name, description;  // "0", "default_pg"
  std::vector<int> members;       // in the group's order; empty: not in the dump
  int generation = 1;             // how many default groups the process had created when it created
                                  // this group
  bool is_doubtful = false;       // several groups have this name and generation

  bool operator==(const Group&) const = default;
};

// Which calls the recorder has kept.
enum class Memory {
  all,
  newest,  // a full ring buffer: a group is known if its last call is in the buffer
  some,    // less than a full buffer: only calls that have not ended, or no call at all
};

struct Dump {
  std::string version;
  Memory memory = Memory::all;
  std::vector<Group> groups;
  std::vector<Entry> entries;  // in the order of the calls

  bool operator==(const Dump&) const = default;
};

// Whether this is the group of all ranks.
bool is_default(const std::string& name, const std::string& description);

Result<Dump> parse_dump(std::string_view bytes);

}  // namespace toprun::recorder
