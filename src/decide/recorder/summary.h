#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decide/recorder/dump.h"
#include "decide/recorder/members.h"

namespace toprun::recorder {

// What the dumps of several ranks say, without what is the same on many of them: a node's summary
// travels to the root, whose cost depends on the groups and calls, not on the ranks.

// Ranks of a group that have come equally far in its collectives.
struct Reach {
  std::int64_t last = 0;     // the last that they called; 0: none
  std::int64_t ended = 0;    // up to this all have ended
  bool is_first = false;     // no other group's call of theirs has waited for longer
  bool is_doubtful = false;  // they may have come further
  std::vector<int> ranks;    // ascending

  bool operator==(const Reach&) const = default;
};

// Ranks of a group that gave the same to the same call, as far as it has to be the same.
struct Call {
  std::int64_t sequence = 0;
  int part = 0;
  std::string operation;  // as recorded
  std::string sizes;      // to be shown
  std::string elements;   // to be compared
  std::string types;
  std::int64_t given = 0, taken = 0;  // of an exchange: elements, of all these ranks
  std::vector<int> ranks;             // ascending

  auto place() const { return std::pair(sequence, part); }
  bool operator==(const Call&) const = default;
};

// What a rank has sent to another one, or received from it.
struct Transfer {
  int rank = 0;
  int peer = -1;  // -1: the dump does not tell the group's members
  bool sends = false;
  bool waits = false;     // one has not ended, to which the following belongs
  bool is_first = false;  // as of Reach
  int batch = 1;          // so many ranks it was started with at once
  std::int64_t made = 0;  // so many until it, as far as the recorder has kept them
  std::string operation;  // "nccl:recv 1<-0"
  std::string elements, types;

  bool operator==(const Transfer&) const = default;
};

struct GroupSummary {
  std::string name, description;
  int generation = 1;        // dump.h
  std::vector<Run> members;  // empty: not told
  std::vector<Reach> reached;
  std::vector<Call> calls;          // by sequence and part
  std::vector<Transfer> transfers;  // by rank

  auto key() const { return std::tie(name, generation, members); }
  bool operator==(const GroupSummary&) const = default;
};

struct Summary {
  std::vector<int> ranks;            // whose dumps were read, ascending
  std::vector<int> forgetful;        // … and do not have all calls: a group may be missing
  std::vector<int> without_calls;    // … and have counters, but no call
  std::vector<GroupSummary> groups;  // by key()

  bool operator==(const Summary&) const = default;
};

// Bounds of a summary that travels. Of a group's calls those from shortly before the oldest on that
// has not ended are kept: all that is older has been the same everywhere.
inline constexpr std::size_t most_groups = 128;
inline constexpr std::size_t most_calls = 16;      // of a group
inline constexpr std::size_t most_transfers = 64;  // of a group
inline constexpr std::size_t most_runs = 256;      // of a group's members; more are left out
inline constexpr std::int64_t most_members = 1'000'000;
inline constexpr int most_generations = 1'000'000;
inline constexpr int most_parts = 1'000'000;
inline constexpr std::size_t longest_text = 128;

// Of the dumps by rank.
Summary summary_of(const std::map<int, Dump>& dumps);
// Of the same within the bounds, in ASCII.
Summary bounded_summary_of(const std::map<int, Dump>& dumps);

// Adds another node's; a rank counts once.
void add(Summary& all, Summary more);

}  // namespace toprun::recorder
