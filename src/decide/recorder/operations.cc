#include "decide/recorder/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace toprun::recorder {
namespace {

struct Row {
  std::string_view recorded;
  Operation operation;
};

constexpr Alike free = Alike::nothing;
constexpr Alike in = Alike::inputs;
constexpr Alike out = Alike::outputs;
constexpr Alike both = Alike::both;

// Only the root of a gather has outputs, only that of a scatter inputs, and what a reduce leaves on
// the others is undefined. An all_to_all's parts may all be of different sizes; of the forms that
// end with "v" so may each rank's.
constexpr Row rows[] = {
    {"all_reduce", {"all_reduce", both, both, true, false, false}},
    {"all_reduce_barrier", {"barrier", free, free, true, false, false}},
    {"barrier", {"barrier", free, free, true, false, false}},
    {"allreduce_coalesced", {"allreduce_coalesced", both, both, true, false, false}},
    {"broadcast", {"broadcast", both, both, false, false, false}},
    {"_broadcast_oop", {"_broadcast_oop", both, both, false, false, false}},
    {"reduce", {"reduce", in, in, false, false, false}},
    {"_reduce_oop", {"_reduce_oop", in, in, false, false, false}},
    {"all_gather", {"all_gather", both, both, true, true, false}},
    {"_all_gather_base", {"all_gather", both, both, true, true, false}},
    {"all_gather_single", {"all_gather", both, both, true, true, false}},
    {"all_gather_into_tensor", {"all_gather", both, both, true, true, false}},
    {"all_gather_into_tensor_coalesced",
     {"all_gather_into_tensor_coalesced", both, both, true, false, false}},
    {"all_gather_v", {"all_gather_v", free, both, true, false, false}},
    {"reduce_scatter", {"reduce_scatter", both, both, true, true, false}},
    {"_reduce_scatter_base", {"reduce_scatter", both, both, true, true, false}},
    {"reduce_scatter_single", {"reduce_scatter", both, both, true, true, false}},
    {"reduce_scatter_tensor", {"reduce_scatter", both, both, true, true, false}},
    {"reduce_scatter_tensor_coalesced",
     {"reduce_scatter_tensor_coalesced", both, both, true, false, false}},
    {"reduce_scatter_v", {"reduce_scatter_v", free, both, true, false, false}},
    {"gather", {"gather", in, in, false, false, false}},
    {"scatter", {"scatter", out, out, false, false, false}},
    {"all_to_all", {"all_to_all", free, both, true, false, true}},
    {"all_to_all_single", {"all_to_all", free, both, true, false, true}},
    {"all_to_all_v_single", {"all_to_all", free, both, true, false, true}},
};

std::string_view without_backend(std::string_view recorded) {
  const auto colon = recorded.find(':');
  return colon == std::string_view::npos ? recorded : recorded.substr(colon + 1);
}

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
    if (!out.blames) out.note = "the dumps do not show which ranks are right";
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

Operation operation_of(std::string_view recorded) {
  const std::string_view name = without_backend(recorded);
  const auto* const row = std::ranges::find(rows, name, &Row::recorded);
  return row == std::end(rows) ? Operation{.name = name} : row->operation;
}

// "nccl:coalesced", or in capitals what was coalesced: "nccl:ALLGATHER_coalesced".
bool ends_coalescing(std::string_view recorded) {
  constexpr std::string_view ending = "_coalesced";
  const std::string_view name = without_backend(recorded);
  if (name == ending.substr(1)) return true;
  return name.ends_with(ending) && name.front() >= 'A' && name.front() <= 'Z';
}

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
