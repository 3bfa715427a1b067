#include "recorder/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace toprun::recorder {
namespace {

using Kind = Finding::Kind;
using Difference = Finding::Difference;

// What is to be the same on all ranks. Ranks of the other operations (gather, scatter, all_to_all)
// may give other sizes.
constexpr std::string_view equal_sizes[] = {"all_reduce", "allreduce", "broadcast",
                                            "all_gather", "allgather", "reduce_scatter"};

std::string compared(const Call& call, Difference difference) {
  if (difference == Difference::operation) return call.operation;
  if (difference == Difference::types) return call.types;
  const bool fixed = std::ranges::any_of(equal_sizes, [&](std::string_view name) {
    return call.operation.find(name) != std::string::npos;
  });
  return fixed ? call.sizes : "";
}

using Calls = std::span<const Call>;  // of one sequence number

// The value that most ranks gave; of equally many, that of the lowest rank.
std::string most_frequent(Calls calls, Difference difference) {
  struct Votes {
    std::size_t count = 0;
    int first = std::numeric_limits<int>::max();
  };
  std::map<std::string, Votes> votes;
  for (const Call& call : calls) {
    Votes& of_value = votes[compared(call, difference)];
    of_value.count += call.ranks.size();
    of_value.first = std::min(of_value.first, call.ranks.front());
  }
  const auto best = std::ranges::max_element(
      votes, {}, [](const auto& one) { return std::pair(one.second.count, -one.second.first); });
  return best == votes.end() ? "" : best->first;
}

std::optional<Finding> mismatch_at(const std::string& id, Calls calls) {
  for (const auto difference : {Difference::operation, Difference::sizes, Difference::types}) {
    Finding out{.kind = Kind::mismatch, .group = id, .sequence = calls.front().sequence};
    out.operation = most_frequent(calls, Difference::operation);
    out.difference = difference;
    out.expected = most_frequent(calls, difference);
    int first = std::numeric_limits<int>::max();
    for (const Call& call : calls) {
      std::string value = compared(call, difference);
      if (value == out.expected) continue;
      if (call.ranks.front() < first) {
        first = call.ranks.front();
        out.got = std::move(value);
      }
      out.ranks.insert(out.ranks.end(), call.ranks.begin(), call.ranks.end());
    }
    std::ranges::sort(out.ranks);
    if (!out.ranks.empty()) return out;
  }
  return std::nullopt;
}

Calls calls_at(const GroupSummary& group, std::int64_t sequence) {
  const auto found = std::ranges::equal_range(group.calls, sequence, {}, &Call::sequence);
  return {found.begin(), found.end()};
}

// The first call at which ranks differ: those after it follow from it.
std::optional<Finding> mismatch(const GroupSummary& group) {
  for (std::size_t at = 0; at < group.calls.size();) {
    const Calls calls = calls_at(group, group.calls[at].sequence);
    if (auto found = mismatch_at(group.id, calls)) return found;
    at += calls.size();
  }
  return std::nullopt;
}

// The cheapest rule that works: who has enqueued the least never called what others wait in.
std::optional<Finding> progress(const GroupSummary& group) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = -1;
  for (const Status& status : group.statuses) {
    least = std::min(least, status.last_enqueued);
    most = std::max(most, status.last_enqueued);
  }
  const bool all_called = least >= most;
  Finding out{.kind = all_called ? Kind::not_finished : Kind::behind, .group = group.id};
  out.sequence = all_called ? most : std::max<std::int64_t>(least, 0) + 1;
  for (const Status& status : group.statuses) {
    const bool concerned =
        all_called ? status.last_completed < status.last_enqueued : status.last_enqueued == least;
    if (concerned) out.ranks.insert(out.ranks.end(), status.ranks.begin(), status.ranks.end());
  }
  if (out.ranks.empty()) return std::nullopt;
  std::ranges::sort(out.ranks);
  out.operation = most_frequent(calls_at(group, out.sequence), Difference::operation);
  return out;
}

void sort(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, {}, [](const Finding& finding) {
    return finding.kind == Kind::mismatch ? 0 : finding.kind == Kind::behind ? 1 : 2;
  });
}

// Who belongs to a group, as its dumps name them, and gave no dump.
std::vector<Finding> silent(const std::map<int, Dump>& dumps) {
  std::map<std::string, std::set<int>> members;
  for (const auto& [rank, dump] : dumps) {
    for (const auto& [id, group] : dump.groups) {
      members[id].insert(group.ranks.begin(), group.ranks.end());
    }
  }
  std::vector<Finding> out;
  for (const auto& [id, ranks] : members) {
    Finding finding{.kind = Kind::silent, .group = id};
    for (const int rank : ranks) {
      if (!dumps.contains(rank)) finding.ranks.push_back(rank);
    }
    if (!finding.ranks.empty()) out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace

std::vector<Finding> judge(const Summary& summary) {
  std::vector<Finding> out;
  for (const GroupSummary& group : summary.groups) {
    auto differ = mismatch(group);
    auto moved = progress(group);
    // Who called something else hangs in it: all have called, and none has finished.
    const bool follows = differ && moved && moved->kind == Kind::not_finished;
    if (differ) out.push_back(*std::move(differ));
    if (moved && !follows) out.push_back(*std::move(moved));
  }
  sort(out);
  return out;
}

std::vector<Finding> judge(const std::map<int, Dump>& dumps) {
  std::vector<Finding> out = judge(summary_of(dumps));
  const auto more = silent(dumps);
  out.insert(out.end(), more.begin(), more.end());
  sort(out);
  return out;
}

std::string text_of(const Finding& finding, const std::string& ranks) {
  const std::string who = (finding.ranks.size() == 1 ? "rank " : "ranks ") + ranks;
  const std::string call =
      fmt::format("call {}{}", finding.sequence,
                  finding.operation.empty() ? "" : fmt::format(" ({})", finding.operation));
  switch (finding.kind) {
    case Kind::silent:
      return fmt::format("no dump of {}", who);
    case Kind::mismatch:
      return fmt::format("{}: {} gave {}, the others {}", call, who, finding.got, finding.expected);
    case Kind::behind:
      return fmt::format("{} never came to {}, in which the others wait", who, call);
    case Kind::not_finished:
      return fmt::format("all came to {}, and it has not ended on {}: the network or a GPU", call,
                         who);
  }
  return {};
}

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 4> names = {"silent", "mismatch", "behind",
                                                     "not_finished"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace toprun::recorder
