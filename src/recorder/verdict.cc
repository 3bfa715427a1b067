#include "recorder/verdict.h"

#include <algorithm>
#include <limits>
#include <set>

namespace toprun::recorder {
namespace {

using Kind = Finding::Kind;
using Difference = Finding::Difference;

// A group as all its ranks have told it.
struct Shared {
  std::map<int, const Group*> status;  // by rank
  std::set<int> members;
  std::map<std::int64_t, std::map<int, const Entry*>> calls;  // by sequence, then rank
};

std::map<std::string, Shared> by_group(const std::map<int, Dump>& dumps) {
  std::map<std::string, Shared> out;
  for (const auto& [rank, dump] : dumps) {
    for (const auto& [id, group] : dump.groups) {
      Shared& shared = out[id];
      shared.status[rank] = &group;
      shared.members.insert(rank);
      shared.members.insert(group.ranks.begin(), group.ranks.end());
    }
    for (const Entry& entry : dump.entries) {
      const auto found = out.find(entry.group);
      if (found != out.end()) found->second.calls[entry.sequence][rank] = &entry;
    }
  }
  return out;
}

// What is to be the same on all ranks. Ranks of the other operations (gather, scatter, all_to_all)
// may give other sizes.
constexpr std::string_view equal_sizes[] = {"all_reduce", "allreduce", "broadcast",
                                            "all_gather", "allgather", "reduce_scatter"};

std::string compared(const Entry& entry, Difference difference) {
  if (difference == Difference::operation) return entry.operation;
  if (difference == Difference::types) return entry.types;
  const bool fixed = std::ranges::any_of(equal_sizes, [&](std::string_view name) {
    return entry.operation.find(name) != std::string::npos;
  });
  return fixed ? entry.sizes : "";
}

// The value that most ranks gave; of equally many, that of the lowest rank.
std::string most_frequent(const std::map<int, const Entry*>& calls, Difference difference) {
  std::map<std::string, int> counts;
  for (const auto& [rank, entry] : calls) ++counts[compared(*entry, difference)];
  std::string best;
  int most = 0;
  for (const auto& [rank, entry] : calls) {
    const std::string value = compared(*entry, difference);
    if (counts[value] > most) {
      most = counts[value];
      best = value;
    }
  }
  return best;
}

// The first call at which ranks differ: those after it follow from it.
std::vector<Finding> mismatches(const std::string& id, const Shared& shared) {
  for (const auto& [sequence, calls] : shared.calls) {
    for (const auto difference : {Difference::operation, Difference::sizes, Difference::types}) {
      Finding out{.kind = Kind::mismatch, .group = id, .sequence = sequence};
      out.operation = most_frequent(calls, Difference::operation);
      out.difference = difference;
      out.expected = most_frequent(calls, difference);
      for (const auto& [rank, entry] : calls) {
        const std::string value = compared(*entry, difference);
        if (value == out.expected) continue;
        if (out.ranks.empty()) out.got = value;
        out.ranks.push_back(rank);
      }
      if (!out.ranks.empty()) return {std::move(out)};
    }
  }
  return {};
}

std::string operation_at(const Shared& shared, std::int64_t sequence) {
  const auto calls = shared.calls.find(sequence);
  return calls == shared.calls.end() ? "" : most_frequent(calls->second, Difference::operation);
}

// The cheapest rule that works: who has enqueued the least never called what others wait in.
std::vector<Finding> progress(const std::string& id, const Shared& shared) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = -1;
  for (const auto& [rank, status] : shared.status) {
    least = std::min(least, status->last_enqueued);
    most = std::max(most, status->last_enqueued);
  }
  const bool all_called = least >= most;
  Finding out{.kind = all_called ? Kind::not_finished : Kind::behind, .group = id};
  out.sequence = all_called ? most : std::max<std::int64_t>(least, 0) + 1;
  for (const auto& [rank, status] : shared.status) {
    const bool concerned = all_called ? status->last_completed < status->last_enqueued
                                      : status->last_enqueued == least;
    if (concerned) out.ranks.push_back(rank);
  }
  if (out.ranks.empty()) return {};
  out.operation = operation_at(shared, out.sequence);
  return {std::move(out)};
}

}  // namespace

std::vector<Finding> judge(const std::map<int, Dump>& dumps) {
  std::vector<Finding> out;
  for (const auto& [id, shared] : by_group(dumps)) {
    const auto differ = mismatches(id, shared);
    const auto moved = progress(id, shared);
    out.insert(out.end(), differ.begin(), differ.end());
    // Who called something else hangs in it: all have called, and none has finished.
    const bool follows = !differ.empty() && !moved.empty() && moved[0].kind == Kind::not_finished;
    if (!follows) out.insert(out.end(), moved.begin(), moved.end());
    Finding silent{.kind = Kind::silent, .group = id};
    for (const int rank : shared.members) {
      if (!dumps.contains(rank)) silent.ranks.push_back(rank);
    }
    if (!silent.ranks.empty()) out.push_back(std::move(silent));
  }
  std::ranges::stable_sort(out, {}, [](const Finding& finding) {
    return finding.kind == Kind::mismatch ? 0 : finding.kind == Kind::behind ? 1 : 2;
  });
  return out;
}

}  // namespace toprun::recorder
