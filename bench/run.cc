// What the heart of a run costs: room run/ and the order of plan/, without links and without
// JSON.
//
//   run [ROUNDS]
//
// All agents join, are ordered by a topology, assigned, started, their ranks end with 0, and they
// part. `root` is the CPU time of the coordinator and of the order, by phase; `agents` that of all
// the agents' own machines together, which a real job has on as many hosts. The median of ROUNDS
// (5). Exit code 1 if a figure misses its target.
#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "decide/topology/tree.h"
#include "node/link/preamble.h"
#include "node/plan/arrange.h"
#include "run/conductor/coordinator.h"
#include "run/conductor/node_part.h"

namespace {

using namespace toprun;
using namespace std::chrono_literals;

constexpr int slots = 8;  // of a node
constexpr int nodes_per_rack = 16;
constexpr int stride = 7919;  // a prime: neighbours by name sit far apart
constexpr int default_rounds = 5;

enum Phase { join, order, assign, start, end, phases };
constexpr std::array<std::string_view, phases> phase_names = {"join", "order", "assign", "start",
                                                              "end"};

// CPU seconds.
struct Costs {
  std::array<double, phases> root{};
  double agents = 0;
  double of_root() const { return std::accumulate(root.begin(), root.end(), 0.0); }
  double all() const { return of_root() + agents; }
};

struct Kind {
  int agents;
  bool in_place;   // each is one rank, `slots` of them on a node
  double limit_s;  // of root and agents together; 0: none
};

double cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double cost_of(const std::function<void()>& work) {
  const double before = cpu_now();
  work();
  return cpu_now() - before;
}

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "run: {}\n", what);
  std::exit(1);
}

// One run from the first join to the last parting. What is done for all agents at once is timed as
// a whole: a clock read per message would cost as much as the message.
class Run {
 public:
  explicit Run(const Kind& kind)
      : kind_(kind), coordinator_(settings_of(kind), now_), map_(map_of(kind)) {
    options_.order = plan::Order::topology;
    for (int i = 0; i < kind.agents; ++i) joins_.push_back(join_of(i));
  }

  Costs play() {
    gather();
    arrange();
    serve(assign);
    serve(start);
    serve(start);
    end_ranks();
    finish();
    return costs_;
  }

 private:
  static run::Settings settings_of(const Kind& kind) {
    run::Settings settings;
    settings.size = {kind.agents, kind.agents};
    settings.ranks_in_place = kind.in_place;
    settings.several_processes = true;
    for (int node = 0; node < nodes_of(kind); ++node) settings.node_names.push_back(host(node));
    return settings;
  }
  static int nodes_of(const Kind& kind) {
    return kind.in_place ? kind.agents / slots : kind.agents;
  }
  static std::string host(int node) { return fmt::format("n{}", node); }

  static topology::Map map_of(const Kind& kind) {
    topology::MapBuilder builder("the bench");
    const int nodes = nodes_of(kind);
    for (int node = 0; node < nodes; ++node) {
      const auto rack = static_cast<long>(node) * stride % nodes / nodes_per_rack;
      const auto added = builder.add(
          host(node),
          {{fmt::format("s{}", rack / nodes_per_rack), fmt::format("r{}", rack)}, "the bench", ""},
          "the bench");
      if (!added) die(added.error().line());
    }
    return builder.finish({"spine", "rack"});
  }

  model::Join join_of(int number) const {
    const int node = kind_.in_place ? number / slots : number;
    model::Join join;
    join.agent = fmt::format("{:0{}x}", number, 2 * link::agent_id_bytes);
    join.host = host(node);
    join.pid = number;
    join.nnodes = kind_.in_place ? 0 : kind_.agents;
    join.slots = kind_.in_place ? 1 : slots;
    join.node_index = node;
    if (kind_.in_place) join.local_rank = number % slots;
    join.addresses = {fmt::format("10.{}.{}.{}", node >> 16, (node >> 8) & 255, node & 255)};
    return join;
  }

  void gather() {
    costs_.root[join] += cost_of([&] {
      for (std::size_t i = 0; i < joins_.size(); ++i) {
        if (const auto refused = coordinator_.admit(joins_[i])) die(refused->text);
        on(run::Came{joins_[i].agent, i == 0 ? "" : joins_[i].addresses.front(), "10.0.0.1"});
      }
    });
    costs_.agents += cost_of([&] {
      for (std::size_t i = 0; i < joins_.size(); ++i) {
        run::PartSettings settings;
        settings.host = joins_[i].host;
        settings.is_own = i == 0;
        parts_.emplace_back(settings);
      }
    });
  }

  void arrange() {
    if (!request_) die("not all have joined");
    run::Arranged answer{request_->attempt, run::Arrangement{}, {}};
    costs_.root[order] += cost_of([&] {
      answer.arrangement = plan::arrange(request_->members, options_, map_, request_->before);
      if (!answer.arrangement) die(answer.arrangement.error().line());
    });
    costs_.root[assign] += cost_of([&] { on(std::move(answer)); });
  }

  // The agents do as they were told, and the root hears of it.
  void serve(Phase phase) {
    costs_.agents += cost_of([&] {
      for (const run::Send& send : std::exchange(sent_, {})) {
        on(static_cast<std::size_t>(std::stoul(send.agent, nullptr, 16)), run::MessageReceived{send.message});
      }
    });
    hear(phase);
  }

  void end_ranks() {
    if (coordinator_.stage() != run::Stage::running) die("the ranks do not run");
    costs_.agents += cost_of([&] {
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        const model::Assignment& part = parts_[i].assignment();
        for (int rank = 0; rank < part.nproc; ++rank) {
          model::WorkerExit exit;
          exit.host = joins_[i].host;
          exit.rank = part.first_rank + rank;
          exit.local_rank = rank;
          on(i, run::WorkerEnded{std::move(exit)});
        }
        on(i, run::WorkersGone{});
      }
    });
    hear(end);
  }

  void finish() {
    if (coordinator_.stage() != run::Stage::telling) die("the run is not over");
    costs_.root[end] += cost_of([&] { on(run::EndReported{"the run is over"}); });
    serve(end);
    costs_.root[end] += cost_of([&] {
      for (const model::Join& join : joins_) on(run::Left{join.agent, std::nullopt});
    });
    const bool well = coordinator_.stage() == run::Stage::over &&
                      coordinator_.course().verdict.exit_code == 0 &&
                      std::ranges::all_of(parts_, &run::NodePart::over);
    if (!well) die("not all have parted");
  }

  void hear(Phase phase) {
    costs_.root[phase] += cost_of([&] {
      for (run::Said& said : std::exchange(said_, {})) on(std::move(said));
    });
  }

  // The coordinator's driver, …
  void on(run::Event event) {
    coordinator_.on(std::move(event), now_);
    for (run::Action& action : coordinator_.take()) {
      if (auto* send = std::get_if<run::Send>(&action)) sent_.push_back(std::move(*send));
      if (auto* request = std::get_if<run::Arrange>(&action)) request_ = std::move(*request);
    }
  }

  // … and an agent's.
  void on(std::size_t agent, run::PartEvent event) {
    run::NodePart& part = parts_[agent];
    part.on(std::move(event), now_.steady);
    for (auto actions = part.take(); !actions.empty(); actions = part.take()) {
      for (run::PartAction& action : actions) {
        if (auto* report = std::get_if<run::Report>(&action)) {
          said_.push_back({joins_[agent].agent, std::move(report->message)});
        } else if (std::holds_alternative<run::FindStore>(action)) {
          part.on(run::StoreFound{part.assignment().attempt, std::string("10.0.0.1")}, now_.steady);
        } else if (const auto* start = std::get_if<run::StartWorkers>(&action)) {
          part.on(run::WorkersStarted{model::Started{start->assignment->first_rank, ""}},
                  now_.steady);
        }
      }
    }
  }

  const Kind kind_;
  const run::Moment now_{SteadyTime() + 1h, WallTime() + 1h};
  run::Coordinator coordinator_;
  const topology::Map map_;
  plan::Options options_;
  std::vector<model::Join> joins_;
  std::vector<run::NodePart> parts_;
  std::vector<run::Send> sent_;  // not yet taken by the agents
  std::vector<run::Said> said_;  // not yet heard by the root
  std::optional<run::Arrange> request_;
  Costs costs_;
};

// In a process of its own, as a root is: memory that an earlier run has left costs nothing.
Costs play(const Kind& kind) {
  int ends[2];
  if (::pipe(ends) != 0) die("pipe");
  const pid_t child = ::fork();
  if (child < 0) die("fork");
  Costs costs;
  if (child == 0) {
    costs = Run(kind).play();
    ::_exit(::write(ends[1], &costs, sizeof costs) == sizeof costs ? 0 : 1);
  }
  ::close(ends[1]);
  const bool told = ::read(ends[0], &costs, sizeof costs) == sizeof costs;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (!told) die("a round has failed");
  return costs;
}

Costs median_of(const Kind& kind, int rounds) {
  std::vector<Costs> all;
  for (int round = 0; round < rounds; ++round) all.push_back(play(kind));
  std::ranges::nth_element(all, all.begin() + rounds / 2, {}, &Costs::all);
  return all[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? static_cast<int>(parse_int(argv[1]).value_or(1)) : default_rounds;
  constexpr double most_growth = 12;  // from 1,250 agents to 12,500
  constexpr std::array kinds = {Kind{1'250, false, 0}, Kind{12'500, false, 0.5},
                                Kind{10'000, true, 0}, Kind{100'000, true, 2}};
  double load = 0;
  ::getloadavg(&load, 1);
  fmt::print("CPU ms of the heart of a run, median of {} rounds; load {:.1f}\n{:>7} {:<14}", rounds,
             load, "", "");
  for (const std::string_view name : phase_names) fmt::print(" {:>7}", name);
  fmt::print(" {:>8} {:>8} {:>8} {:>9}\n", "root", "agents", "all", "us/agent");
  bool missed = false;
  std::array<double, kinds.size()> all{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Kind& kind = kinds[i];
    const Costs costs = median_of(kind, rounds);
    all[i] = costs.all();
    fmt::print("{:>7} {:<14}", kind.agents, kind.in_place ? "ranks in place" : "nodes");
    for (const double phase : costs.root) fmt::print(" {:7.1f}", phase * 1e3);
    fmt::print(" {:8.1f} {:8.1f} {:8.1f} {:9.2f}", costs.of_root() * 1e3, costs.agents * 1e3,
               costs.all() * 1e3, costs.all() * 1e6 / kind.agents);
    const bool met = kind.limit_s == 0 || costs.all() <= kind.limit_s;
    if (kind.limit_s > 0) fmt::print("  <= {:g} s: {}", kind.limit_s, met ? "met" : "MISSED");
    fmt::print("\n");
    missed = missed || !met;
  }
  const double growth = all[1] / all[0];
  fmt::print("from 1,250 to 12,500 nodes: x {:.1f}  <= {:g}: {}\n", growth, most_growth,
             growth <= most_growth ? "met" : "MISSED");
  return missed || growth > most_growth ? 1 : 0;
}
