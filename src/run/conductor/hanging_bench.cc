// What it costs the root to hear where 100,000 ranks on 12,500 nodes stand, and to judge it: each
// node's answer is read from JSON and merged; one rank keeps the others waiting.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <numeric>

#include <nlohmann/json.hpp>

#include "decide/hang/hang_verdict.h"
#include "run/conductor/benched.h"
#include "run/model/run_messages.h"

namespace toprun::run {
namespace {

std::string node_of(int rank) {
  return fmt::format("n{}", rank / slots);
}

hang::Standing standing(bool waits, int depth) {
  hang::Standing standing;
  standing.doing = waits ? hang::Doing::communicates : hang::Doing::waits;
  for (int i = 0; i < depth; ++i) {
    standing.frames.push_back({fmt::format("forward_{}", i),
                               fmt::format("/env/lib/python3.11/site-packages/torch/{}/module.py",
                                           waits ? "distributed" : "nn"),
                               100 + i});
  }
  return standing;
}

// One rank of the first node stands elsewhere; or each node's ranks in a place of their own.
std::vector<std::string> answers(bool all_elsewhere) {
  std::vector<std::string> texts;
  for (int node = 0; node < nodes; ++node) {
    hang::Groups groups;
    std::vector<int> ranks(slots);
    std::iota(ranks.begin(), ranks.end(), node * slots);
    hang::Standing where = standing(true, 24);
    if (all_elsewhere) where.frames.front().line = node;
    if (node == 0) {
      groups.add(standing(false, 24), std::array{0});
      ranks.erase(ranks.begin());
    }
    groups.add(where, ranks);
    const model::RanksSeen seen{0, std::move(groups).take()};
    texts.push_back(to_wire(model::ToRoot{0, seen}).dump());
  }
  return texts;
}

void heard_and_judged(benchmark::State& state) {
  const std::vector<std::string> texts = answers(state.range(0) != 0);
  state.counters["bytes"] = static_cast<double>(texts.back().size());
  for (auto _ : state) {
    hang::Groups groups;
    for (const std::string& text : texts) {
      auto message = model::to_root_in(nlohmann::json::parse(text));
      for (hang::Group& group : std::get<model::RanksSeen>((*message)->what).groups) {
        groups.add(std::move(group.standing), group.ranks);
      }
    }
    const hang::Verdict verdict = hang::judge(std::move(groups).take(), {}, node_of);
    benchmark::DoNotOptimize(hang::lines_of(verdict, node_of));
  }
}
BENCHMARK(heard_and_judged)
    ->ArgName("all_elsewhere")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::run
