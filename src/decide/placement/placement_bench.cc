#include <benchmark/benchmark.h>

#include <random>

#include "decide/placement/order.h"

namespace toprun::placement {
namespace {

// A shuffled three-level tree: 10 clusters of 50 blocks of racks of 20 nodes, with names of the
// same length as Google's.
struct Cluster {
  std::vector<Host> hosts;
  topology::Map map;
};

Cluster make_cluster(std::size_t nodes) {
  Cluster cluster;
  cluster.map.source = "bench";
  cluster.map.levels = {"cluster", "block", "rack"};
  std::mt19937 random(1);
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t rack = i / 20;
    cluster.hosts.push_back({fmt::format("a3mega-a3meganodeset-{}.c.project.internal", i), 8});
    cluster.map.hosts.push_back(
        {cluster.hosts.back().name,
         {{fmt::format("{:032x}", rack % 10), fmt::format("{:032x}", rack % 500),
           fmt::format("{:032x}", rack)},
          "bench",
          {}}});
  }
  std::ranges::shuffle(cluster.hosts, random);
  return cluster;
}

void order_by_topology(benchmark::State& state) {
  const Cluster cluster = make_cluster(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(place(cluster.hosts, cluster.map));
  }
}
BENCHMARK(order_by_topology)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// 4,096 nodes of 8 processes in racks of the given size, four racks per block, shuffled; size 0:
// racks of 5 to 36 nodes, as a scheduler may allocate them. `saved` is the share of the plain
// order's cost that the mapping saves; `above_bound` is its distance from the lower bound of all
// orders.
void order_for_parallel(benchmark::State& state, const std::string& text) {
  constexpr std::size_t nodes = 4096;
  std::mt19937 random(1);
  std::vector<Host> hosts;
  topology::Map map;
  map.source = "bench";
  map.levels = {"block", "rack"};
  for (std::size_t rack = 0; hosts.size() < nodes; ++rack) {
    const auto given = static_cast<std::size_t>(state.range(0));
    const std::size_t size = given > 0 ? given : 5 + random() % 32;
    for (std::size_t i = 0; i < size && hosts.size() < nodes; ++i) {
      hosts.push_back({fmt::format("gpu-{}", hosts.size()), 8});
      map.hosts.push_back(
          {hosts.back().name,
           {{fmt::format("b{}", rack / 4), fmt::format("r{}", rack)}, "bench", {}}});
    }
  }
  std::ranges::shuffle(hosts, random);
  const Plan plan{*cost::parse_parallel(text), {}, {}, {}};
  for (auto _ : state) {
    const auto placement = place(hosts, map, {.plan = plan});
    const Mapping& mapping = *placement->mapping;
    state.counters["saved"] = 1 - mapping.cost / mapping.plain;
    state.counters["above_bound"] = mapping.cost / mapping.bound - 1;
  }
}
BENCHMARK_CAPTURE(order_for_parallel, dense, "tp=8,pp=16")
    ->Arg(16)
    ->Arg(18)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(order_for_parallel, pipeline_inside, "tp=8,dp=256,pp=16,order=tp-pp-dp")
    ->Arg(16)
    ->Arg(18)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(order_for_parallel, context, "tp=8,cp=4,pp=16")
    ->Arg(16)
    ->Arg(18)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(order_for_parallel, experts, "tp=8,pp=16,ep=8,dp=256")
    ->Arg(16)
    ->Arg(18)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::placement
