#include "pairs/search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace toprun::pairs {
namespace {

// A host may be busy with other work for a while.
constexpr int fewest_repeats = 3;  // of all pairs, where any looks slow
constexpr int most_repeats = 6;
constexpr int times_of_suspects = 5;

std::vector<Round> first_rounds(const Cluster& cluster, std::size_t most_rounds) {
  std::vector<Round> rounds;
  for (Batch& batch : batches(cluster.places, most_rounds)) {
    std::ranges::move(batch.rounds, std::back_inserter(rounds));
  }
  return rounds;
}

// The same without the pairs that gave no result: those would cost a time limit again.
std::vector<Round> rounds_again(std::span<const Measured> measured) {
  std::vector<Round> out;
  for (const Measured& one : measured) {
    if (one.round >= out.size()) out.resize(one.round + 1);
    if (one.state == State::measured) out[one.round].push_back({one.a, one.b});
  }
  return out;
}

// Pairs without a result in either stay as they are.
void keep_better(std::span<Measured> measured, std::span<const Measured> again) {
  using Key = std::tuple<std::size_t, std::size_t, std::size_t>;
  const auto key = [](const Measured& one) { return Key(one.round, one.a, one.b); };
  std::map<Key, const Measured*> found;
  for (const Measured& one : again) {
    if (one.state == State::measured) found[key(one)] = &one;
  }
  for (Measured& one : measured) {
    const auto other = found.find(key(one));
    if (one.state != State::measured || other == found.end()) continue;
    one.gbps_ab = std::max(one.gbps_ab, other->second->gbps_ab);
    one.gbps_ba = std::max(one.gbps_ba, other->second->gbps_ba);
    one.latency_us = std::min(one.latency_us, other->second->latency_us);
  }
}

bool say_the_same(const Verdict& one, const Verdict& other) {
  return std::ranges::equal(one.findings, other.findings, [](const Finding& a, const Finding& b) {
    return a.kind == b.kind && a.way == b.way && a.nodes == b.nodes && a.domains == b.domains;
  });
}

// Measures nothing where `is_wanted` is false, but calls.
Result<void> measure_again(std::vector<Measured>& measured, bool is_wanted, Pass pass,
                           const Measure& measure) {
  const auto again = measure(is_wanted ? rounds_again(measured) : std::vector<Round>(), pass);
  if (!again) return std::unexpected(again.error());
  keep_better(measured, *again);
  return {};
}

Result<Verdict> verdict_of_repeats(const Cluster& cluster, std::vector<Measured>& all,
                                   const Measure& measure) {
  auto verdict = judge(cluster, all);
  bool is_in_doubt = verdict && !verdict->findings.empty();
  for (int i = 0; verdict && i < most_repeats; ++i) {
    auto again = measure_again(all, is_in_doubt, Pass::all_again, measure);
    if (!again) return std::unexpected(again.error());
    if (!is_in_doubt) continue;
    const Verdict before = *std::move(verdict);
    verdict = judge(cluster, all);
    if (!verdict) break;
    const bool is_settled = i + 1 >= fewest_repeats && say_the_same(before, *verdict);
    is_in_doubt = !verdict->findings.empty() && !is_settled;
  }
  return verdict;
}

}  // namespace

Result<Found> search(const Cluster& cluster, std::size_t most_rounds, const Measure& measure) {
  auto all = measure(first_rounds(cluster, most_rounds), Pass::all);
  if (!all) return std::unexpected(all.error());
  const auto verdict = verdict_of_repeats(cluster, *all, measure);
  if (!verdict) return std::unexpected(verdict.error());

  const SecondPass pass = second_pass(cluster, *verdict);
  auto second = measure(pass.rounds, Pass::suspects);
  if (!second) return std::unexpected(second.error());
  for (int i = 1; i < times_of_suspects; ++i) {
    auto again = measure_again(*second, true, Pass::suspects, measure);
    if (!again) return std::unexpected(again.error());
  }
  Confirmed confirmed = confirm(*verdict, pass, *second);
  return Found{*std::move(all), std::move(confirmed)};
}

}  // namespace toprun::pairs
