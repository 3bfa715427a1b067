// What it costs the root to judge the arrivals of 100,000 ranks on 12,500 nodes, on the thread that
// beats: the message is read from JSON, and every process is found among the ranks.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "run/conductor/arrivals.h"
#include "run/conductor/benched.h"

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::Arrivals;

struct Job {
  explicit Job(bool through_gateways) {
    for (int node = 0; node < nodes; ++node) {
      const std::string address = fmt::format("10.{}.{}.1", node / 250, node % 250);
      MemberRanks ranks{
          fmt::format("n{}", node), {address}, node * slots, slots, {}, {}, node == 0};
      Arrivals::Host host{node == 0 ? "" : through_gateways ? "g" + address : address, {}};
      for (int local = 0; local < slots; ++local) {
        ranks.pids.push_back(1000 + local + node % 1000);
        host.ranks.push_back({ranks.pids.back(), {}, std::chrono::milliseconds(5000 + node), 1s});
      }
      members.push_back(std::move(ranks));
      arrivals.hosts.push_back(std::move(host));
    }
  }

  std::vector<MemberRanks> members;
  Arrivals arrivals;
};

void judged(benchmark::State& state) {
  const Job job(state.range(0) != 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(meeting_of(job.arrivals, job.members, SteadyTime(1h)));
  }
}
BENCHMARK(judged)->ArgName("gateways")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void read_from_json(benchmark::State& state) {
  const std::string text = to_wire(model::ToRoot{0, Job(false).arrivals}).dump();
  state.counters["bytes"] = static_cast<double>(text.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(model::to_root_in(nlohmann::json::parse(text)));
  }
}
BENCHMARK(read_from_json)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::run
