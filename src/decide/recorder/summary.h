#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decide/recorder/dump.h"

namespace toprun::recorder {

// Ranks at equal distances, such as 0, 8 and 16, in a compact form for messages. A process group in
// a mesh consists of only a few such runs, whatever its size.
struct Run {
  int first = 0;
  int count = 1;
  int step = 1;  // at least 1

  auto operator<=>(const Run&) const = default;
};

// Converts ranks to runs. `ranks` has to be ascending.
std::vector<Run> runs_of(std::span<const int> ranks);
std::vector<int> ranks_of(std::span<const Run> runs);

inline constexpr std::size_t most_ranges = 8;  // of ranks, in a sentence

// A summary of several ranks' dumps. Data that many ranks share is stored only once. Each node's
// agent sends its summary to the root agent. The root agent's work depends on the number of groups
// and calls, not on the number of ranks.

// Ranks of a group whose last call is the same collective.
struct Reach {
  std::int64_t last = 0;     // the last call that these ranks made; 0: no call
  std::int64_t ended = 0;    // all calls up to this one have ended
  bool is_first = false;     // no call of these ranks in another group has waited for longer
  bool is_doubtful = false;  // these ranks may have made later calls
  std::vector<int> ranks;    // ascending

  bool operator==(const Reach&) const = default;
};

// Ranks of a group that made the same call with the same arguments. Arguments that may differ
// between ranks are not compared.
struct Call {
  std::int64_t sequence = 0;
  int part = 0;
  std::string operation;  // as recorded
  std::string sizes;      // for people
  std::string elements;   // for comparisons
  std::string types;
  std::int64_t given = 0, taken = 0;  // for an exchange: how many elements these ranks send and
                                      // receive in total
  std::vector<int> ranks;             // ascending

  auto place() const { return std::pair(sequence, part); }
  bool operator==(const Call&) const = default;
};

// One rank's sends to one peer, or its receives from one peer.
struct Transfer {
  int rank = 0;
  int peer = -1;  // -1: the group's members are not in the dump
  bool sends = false;
  bool waits = false;     // a transfer has not ended; the fields below describe it
  bool is_first = false;  // as in Reach
  int batch = 1;          // number of peers in the batch with which the transfer was started
  std::int64_t made = 0;  // number of transfers up to this one that the recorder still has
  std::string operation;  // "nccl:recv 1<-0"
  std::string elements, types;

  bool operator==(const Transfer&) const = default;
};

struct GroupSummary {
  std::string name, description;
  int generation = 1;        // as in dump.h
  std::vector<Run> members;  // empty: not in the dumps
  std::vector<Reach> reached;
  std::vector<Call> calls;          // by sequence and part
  std::vector<Transfer> transfers;  // by rank

  auto key() const { return std::tie(name, generation, members); }
  bool operator==(const GroupSummary&) const = default;
};

struct Summary {
  std::vector<int> ranks;            // ranks whose dumps were read, ascending
  std::vector<int> forgetful;        // ranks whose dump lacks some calls, so that a group may be
                                     // missing
  std::vector<int> without_calls;    // ranks whose dump has counters, but no calls
  std::vector<GroupSummary> groups;  // by key()

  bool operator==(const Summary&) const = default;
};

// Limits for a summary that a node sends. For each group, a summary begins shortly before the
// oldest call that has not ended; earlier calls are left out. The calls that are left out did not
// differ between ranks.
inline constexpr std::size_t most_groups = 128;
inline constexpr std::size_t most_calls = 16;      // of a group
inline constexpr std::size_t most_transfers = 64;  // of a group
inline constexpr std::size_t most_runs = 256;      // of a group's members; if there are more runs,
                                                   // no members are sent
inline constexpr std::int64_t most_members = 1'000'000;
inline constexpr int most_generations = 1'000'000;
inline constexpr int most_parts = 1'000'000;
inline constexpr std::size_t longest_text = 128;

// Summarises the dumps of several ranks. `dumps`: by rank.
Summary summary_of(const std::map<int, Dump>& dumps);
// Like summary_of(), but within the limits from most_groups on, and with ASCII text only.
Summary bounded_summary_of(const std::map<int, Dump>& dumps);

// Adds another node's summary; ranks that `all` already contains are ignored.
void add(Summary& all, Summary more);

}  // namespace toprun::recorder
