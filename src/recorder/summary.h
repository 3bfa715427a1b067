#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "recorder/dump.h"

namespace toprun::recorder {

// What the dumps of several ranks say, without what is the same on many of them: a node's summary
// travels to the root, whose cost depends on the groups and calls, not on the ranks.

// Ranks of a group that have come equally far.
struct Status {
  std::int64_t last_enqueued = -1, last_started = -1, last_completed = -1;
  std::vector<int> ranks;  // ascending

  bool operator==(const Status&) const = default;
};

// Ranks of a group that gave the same at the same call.
struct Call {
  std::int64_t sequence = 0;
  std::string operation, sizes, types;
  std::vector<int> ranks;  // ascending

  bool operator==(const Call&) const = default;
};

struct GroupSummary {
  std::string id, description;
  std::vector<Status> statuses;
  std::vector<Call> calls;  // by sequence

  bool operator==(const GroupSummary&) const = default;
};

struct Summary {
  std::vector<int> ranks;  // whose dumps were read, ascending
  std::vector<GroupSummary> groups;

  bool operator==(const Summary&) const = default;
};

// Bounds of a summary that travels. Of a group's calls those from the oldest on that has not ended
// are kept: all that is older has been the same everywhere.
inline constexpr std::size_t most_groups = 128;
inline constexpr std::size_t most_calls = 16;  // of a group
inline constexpr std::size_t longest_text = 128;

// Of the dumps by rank.
Summary summary_of(const std::map<int, Dump>& dumps);
// Of the same within the bounds, in ASCII.
Summary bounded_summary_of(const std::map<int, Dump>& dumps);

// Adds another node's; a rank counts once.
void add(Summary& all, Summary more);

}  // namespace toprun::recorder
