#include "decide/recorder/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "decide/recorder/operations.h"

namespace toprun::recorder {
namespace {

using Kind = Finding::Kind;
using Difference = Finding::Difference;
using Calls = std::span<const Call>;  // of one sequence number and part

std::string compared(const Call& call, Difference difference) {
  if (difference == Difference::operation) return std::string(operation_of(call.operation).name);
  return difference == Difference::types ? call.types : call.elements;
}

const std::string& shown(const Call& call, Difference difference) {
  if (difference == Difference::operation) return call.operation;
  return difference == Difference::types ? call.types : call.sizes;
}

// Those that gave the same.
struct Side {
  std::vector<int> ranks;  // ascending
  std::string shown;       // as the lowest of them gave it
};

// The side of the most ranks first; of equally many, that of the lowest rank.
std::vector<Side> sides_of(Calls calls, Difference difference) {
  std::map<std::string, Side> by_value;
  for (const Call& call : calls) {
    Side& side = by_value[compared(call, difference)];
    if (side.ranks.empty() || call.ranks.front() < side.ranks.front()) {
      side.shown = shown(call, difference);
    }
    side.ranks.insert(side.ranks.end(), call.ranks.begin(), call.ranks.end());
    std::ranges::sort(side.ranks);
  }
  std::vector<Side> sides;
  for (auto& [value, side] : by_value) sides.push_back(std::move(side));
  std::ranges::sort(sides, [](const Side& a, const Side& b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks < b.ranks;
  });
  return sides;
}

std::optional<Finding> mismatch_at(const GroupSummary& group, Calls calls) {
  for (const auto difference : {Difference::operation, Difference::sizes, Difference::types}) {
    const std::vector<Side> sides = sides_of(calls, difference);
    if (sides.size() < 2) continue;
    Finding out = finding_of(group, Kind::mismatch);
    out.sequence = calls.front().sequence;
    out.operation = sides_of(calls, Difference::operation).front().shown;
    out.difference = difference;
    out.expected = sides[0].shown;
    out.others = sides[0].ranks;
    const auto lowest = std::min_element(
        sides.begin() + 1, sides.end(),
        [](const Side& a, const Side& b) { return a.ranks.front() < b.ranks.front(); });
    out.got = lowest->shown;
    for (auto side = sides.begin() + 1; side != sides.end(); ++side) {
      out.ranks.insert(out.ranks.end(), side->ranks.begin(), side->ranks.end());
    }
    std::ranges::sort(out.ranks);
    out.blames = out.others.size() > out.ranks.size();
    if (!out.blames) out.note = "the dumps do not show which of them is right";
    return out;
  }
  return std::nullopt;
}

// The last part ends a number, or is all of it.
Calls calls_at(const GroupSummary& group, std::int64_t sequence) {
  const auto found =
      std::ranges::equal_range(group.calls, std::pair(sequence, 0), {}, &Call::place);
  return {found.begin(), found.end()};
}

}  // namespace

Finding finding_of(const GroupSummary& group, Kind kind) {
  Finding out;
  out.kind = kind;
  out.group = group.name;
  out.description = group.description;
  out.members = group.members;
  return out;
}

std::optional<Finding> mismatch(const GroupSummary& group) {
  for (auto at = group.calls.begin(); at != group.calls.end();) {
    const auto next = std::find_if(at, group.calls.end(),
                                   [&](const Call& call) { return call.place() != at->place(); });
    if (auto found = mismatch_at(group, {at, next})) return found;
    at = next;
  }
  return std::nullopt;
}

std::string operation_at(const GroupSummary& group, std::int64_t sequence) {
  const Calls calls = calls_at(group, sequence);
  return calls.empty() ? "" : sides_of(calls, Difference::operation).front().shown;
}

std::string imbalance(const GroupSummary& group, std::int64_t sequence) {
  const Calls calls = calls_at(group, sequence);
  if (calls.size() != 1 || calls[0].given == calls[0].taken) return "";
  return fmt::format("the ranks give {} elements and take {}", calls[0].given, calls[0].taken);
}

}  // namespace toprun::recorder
