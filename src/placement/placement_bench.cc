#include <benchmark/benchmark.h>

#include <random>

#include "placement/order.h"

namespace toprun::placement {
namespace {

// A shuffled three-level tree: 10 clusters of 50 blocks of racks of 20 nodes, names as long as
// Google's.
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

}  // namespace
}  // namespace toprun::placement
