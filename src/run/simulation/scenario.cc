#include "run/simulation/scenario.h"

#include <fmt/format.h>

#include <array>

namespace toprun::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, fault_kinds> fault_names = {"rank_exits",
                                                                   "rank_killed",
                                                                   "workers_do_not_start",
                                                                   "container_fails",
                                                                   "network_refused",
                                                                   "agent_dies",
                                                                   "keeper_dies",
                                                                   "both_die",
                                                                   "node_dies",
                                                                   "cut_off",
                                                                   "stopped",
                                                                   "signal_to_agent",
                                                                   "signal_to_all",
                                                                   "signal_again",
                                                                   "ranks_hang",
                                                                   "malformed",
                                                                   "echoes",
                                                                   "store_lost",
                                                                   "joins",
                                                                   "comes_again",
                                                                   "flaps",
                                                                   "mute",
                                                                   "no_order",
                                                                   "no_store_found",
                                                                   "no_workplace",
                                                                   "no_ranks_started",
                                                                   "no_end_told",
                                                                   "pool_full",
                                                                   "rank_alarmed",
                                                                   "places_asked",
                                                                   "terminal_paused",
                                                                   "asked_to_grow",
                                                                   "noticed"};

Fault fault(Dice& dice, const Scenario& scenario, milliseconds earliest, milliseconds latest) {
  Fault fault;
  fault.kind = static_cast<FaultKind>(dice.number(0, fault_kinds - 1));
  if (dice.chance(25)) fault.kind = FaultKind::rank_exits;
  if (dice.chance(10)) fault.kind = FaultKind::store_lost;
  const bool at_once = fault.kind == FaultKind::store_lost && dice.chance(70);
  fault.at = dice.time(earliest, at_once ? earliest : latest);
  fault.node = dice.number(0, scenario.agents - 1);
  fault.rank = dice.number(0, scenario.slots - 1);
  fault.code = dice.number(2, 60);
  fault.lasts = dice.chance(50) ? dice.time(100ms, 5s) : dice.time(5s, 40s);
  fault.to_root = dice.chance(70);
  fault.to_node = !fault.to_root || dice.chance(60);
  const bool is_of_the_start =
      fault.kind == FaultKind::no_order || fault.kind == FaultKind::no_store_found;
  if (is_of_the_start && fault.code % 2 == 0) fault.at = earliest;
  return fault;
}

// What comes with a fault, to see which was first and which nodes may go on.
void add_companion(Dice& dice, Scenario& scenario, const Fault& fault) {
  if (fault.kind == FaultKind::rank_exits && dice.chance(40)) {
    Fault other = fault;
    other.at += dice.time(0ms, std::max(scenario.slowest_message, 300ms));
    other.node = dice.number(0, scenario.agents - 1);
    other.rank = dice.number(0, scenario.slots - 1);
    other.code = fault.code + 1;
    other.lasts = dice.time(0ms, 2s);
    scenario.faults.push_back(other);
  } else if (fault.kind == FaultKind::places_asked && fault.code % 2 == 0) {
    Fault other = fault;
    other.kind = FaultKind::rank_killed;
    other.at += fault.lasts / 100;
    scenario.faults.push_back(other);
  } else if (fault.kind == FaultKind::signal_again && scenario.settings.elastic) {
    scenario.saving_percent = 100;  // a leaver is still there
  } else if (fault.kind == FaultKind::cut_off && dice.chance(50)) {
    Fault& lasting = scenario.faults.back();
    lasting.to_node = true;
    lasting.lasts += 12s;
    scenario.saving_percent = 100;
  }
}

// Another node comes, and soon a user asks the job to take it in.
void add_newcomer(Dice dice, Scenario& scenario) {
  const milliseconds comes = dice.time(1s, std::max(2'000ms, scenario.work));
  scenario.faults.push_back({.kind = FaultKind::joins, .at = comes});
  scenario.faults.push_back({.kind = FaultKind::asked_to_grow, .at = comes + dice.time(500ms, 5s)});
}

}  // namespace

Instant::~Instant() {
  while (!empty()) std::destroy_at(take_first());
}

Instant::Event* Instant::take_first() {
  Event* const event = first_;
  first_ = event->next;
  if (first_ == nullptr) last_ = nullptr;
  return event;
}

void Instant::run_first() {
  Event* const event = take_first();
  event->run();
  std::destroy_at(event);
}

Instant& Timeline::instant(SteadyTime time) {
  std::unique_ptr<Instant>& found = instants_[time];
  if (!found) {
    found = std::make_unique<Instant>();
    next_.emplace(time, found.get());
  }
  return *found;
}

bool Timeline::step(SteadyTime limit) {
  while (!next_.empty() && next_.top().second->empty()) {
    instants_.erase(next_.top().first);
    next_.pop();
  }
  if (next_.empty() || next_.top().first > limit) return false;
  const auto [time, due] = next_.top();
  if (time > now_) steps_before_ = steps_;
  now_ = time;
  ++steps_;
  due->run_first();
  return true;
}

std::string_view name_of(FaultKind kind) {
  return fault_names[static_cast<std::size_t>(kind)];
}

std::string name_of_node(int place, bool is_long) {
  std::string name = fmt::format("n{}", place);
  if (is_long) name.resize(model::longest_name, '-');
  return name;
}

Scenario scenario(std::uint64_t seed, int size) {
  Dice dice(seed);
  Scenario one;
  one.seed = seed;
  run::Settings& settings = one.settings;
  const int nodes = dice.chance(30) ? dice.number(1, 3) : dice.number(1, size);
  settings.ranks_in_place = dice.chance(10);
  settings.elastic = nodes > 1 && !settings.ranks_in_place && dice.chance(40);
  settings.max_restarts = settings.ranks_in_place ? 0 : dice.number(0, 3);
  settings.size.most = nodes;
  settings.size.least = settings.elastic ? dice.number(1, nodes - 1) : nodes;
  settings.size.repairable = settings.elastic || (nodes > 1 && settings.max_restarts > 0);
  settings.grace.stop = dice.chance(10) ? dice.time(20s, 2min) : dice.time(0s, 8s);
  settings.grow = static_cast<run::Grow>(dice.number(0, 2));
  settings.ended_well = dice.chance(10) ? run::EndedWell::failed : run::EndedWell::done;
  settings.on_one_host = nodes == 1;
  settings.others_come = dice.chance(50);
  settings.several_processes = nodes > 1;
  settings.tells_orders = dice.chance(10);
  settings.join_timeout = 120s;
  settings.last_call = dice.time(0s, 10s);
  settings.silence_limit = 12s;
  if (dice.chance(60)) settings.hang_timeout = dice.time(1s, 30s);
  settings.on_hang = static_cast<run::OnHang>(dice.number(0, 2));

  one.slots = settings.ranks_in_place ? 1 : dice.number(1, 4);
  one.agents = nodes;
  if (settings.elastic) one.agents = dice.number(settings.size.least, nodes + 2);
  if (dice.chance(3)) one.agents = std::max(1, one.agents - 1);
  one.container = dice.chance(25);
  one.container_takes = dice.chance(20) ? dice.time(1min, 30min) : dice.time(1s, 40s);
  if (one.container) settings.prepare_limit += 60min;
  one.work = dice.time(500ms, 60s);
  one.slowest_message = dice.chance(30) ? dice.time(5ms, 2s) : 5ms;
  one.stubborn_percent = dice.chance(20) ? dice.number(1, 100) : 0;
  one.saving_percent = dice.chance(20) ? dice.number(1, 100) : 0;
  one.graceful_percent = dice.chance(20) ? dice.number(1, 100) : 0;
  one.records_errors = dice.chance(50);
  one.gathers_output = dice.chance(40);
  one.encodes = dice.chance(10);
  one.long_names = dice.chance(5);
  one.has_indices = !settings.ranks_in_place && dice.chance(20);
  settings.names_are_unique = one.has_indices && dice.chance(50);
  if (one.container && dice.chance(50)) settings.stage_key = "0123abcd";
  if (dice.chance(4)) one.unfit = dice.number(0, nodes - 1);

  const int faults = dice.chance(15) ? 0 : dice.number(1, 4);
  milliseconds last = 0ms;
  for (int i = 0; i < faults; ++i) {
    // A further fault mostly comes while the run still handles the previous one.
    const bool soon = i > 0 && dice.chance(70);
    const milliseconds latest = soon ? last + 2s : one.work + 15s;
    one.faults.push_back(fault(dice, one, soon ? last : 0ms, std::max(latest, last)));
    last = one.faults.back().at;
    add_companion(dice, one, Fault(one.faults.back()));
  }
  if (settings.elastic && settings.grow == run::Grow::on_signal && seed % 2 == 0) {
    add_newcomer(Dice(~seed), one);
  }
  if (dice.chance(40)) one.faults.push_back({.kind = FaultKind::echoes});
  if (one.gathers_output && faults > 0 && dice.chance(60)) {
    // Over what the other faults make of it.
    const milliseconds at = std::max(0ms, one.faults.front().at - dice.time(0ms, 3s));
    one.faults.push_back(
        {.kind = FaultKind::terminal_paused, .at = at, .lasts = dice.time(2s, 40s)});
  }
  std::ranges::stable_sort(one.faults, {}, &Fault::at);
  if (settings.size.repairable && dice.chance(15)) {
    // The engine gives more nodes than are needed.
    one.agents = std::max(one.agents, nodes + dice.number(1, 2));
    for (int i = 0; i < one.agents; ++i) {
      settings.node_names.push_back(name_of_node(i, one.long_names));
    }
  }
  constexpr std::uint64_t of_health = 0x5eed;
  Dice health(seed ^ of_health);
  if (!one.unfit && health.chance(8)) {
    one.sick = {health.number(0, one.agents - 1), health.number(0, 2)};
  }
  const auto fails = std::ranges::find(one.faults, FaultKind::rank_exits, &Fault::kind);
  if (fails != one.faults.end() && health.chance(40)) one.broken = fails->node;
  settings.evicts = one.broken.has_value();
  return one;
}

Scenario large(std::uint64_t seed, int nodes, int faults) {
  Dice dice(seed);
  Scenario one;
  one.seed = seed;
  one.agents = nodes;
  one.slots = 1;
  one.work = 12min;
  run::Settings& settings = one.settings;
  settings.elastic = true;
  settings.size = {nodes / 2, nodes, true};
  settings.max_restarts = faults;
  settings.last_call = 1s;
  settings.join_timeout = 120s;
  settings.grace.stop = 2s;
  settings.several_processes = true;
  settings.hang_timeout = 10s;
  settings.on_hang = run::OnHang::restart;
  for (int i = 0; i < faults; ++i) {
    Fault next = fault(dice, one, 0ms, 10min);
    const bool ends_all =
        next.kind == FaultKind::signal_to_all || next.kind == FaultKind::workers_do_not_start ||
        next.kind == FaultKind::container_fails || next.kind == FaultKind::network_refused ||
        (next.kind >= FaultKind::mute && next.kind <= FaultKind::pool_full);
    if (ends_all) next.kind = FaultKind::rank_killed;
    next.node = std::max(1, next.node);  // without its first node a run is over
    one.faults.push_back(next);
  }
  std::ranges::stable_sort(one.faults, {}, &Fault::at);
  return one;
}

Scenario in_place(std::uint64_t seed, int ranks) {
  Scenario one;
  one.seed = seed;
  one.agents = ranks;
  one.work = 1s;
  run::Settings& settings = one.settings;
  settings.ranks_in_place = true;
  settings.size = {ranks, ranks};
  settings.several_processes = true;
  return one;
}

}  // namespace toprun::simulation
