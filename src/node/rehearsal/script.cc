#include "node/rehearsal/script.h"

#include <fmt/format.h>

#include <algorithm>

namespace toprun::rehearsal {
namespace {

using namespace std::chrono_literals;

constexpr int most_nodes = 4;
constexpr int most_slots = 2;
constexpr int most_faults = 5;
constexpr milliseconds longest_work{60'000};
constexpr int few_lines = 1'000;
constexpr int many_lines = 20'000;  // more than a relay's credit

plan::Job job_of(Dice& dice, int nodes) {
  plan::Job job;
  job.nnodes = nodes;
  job.min_nodes = nodes > 1 && dice.chance(30) ? dice.number(1, nodes) : nodes;
  job.nproc = dice.number(1, most_slots);
  job.run_id = "rehearsal";
  job.name = "rehearsal";
  job.root_host = "n0";
  job.ports = {29'500};
  job.program = {"/bin/true"};
  job.join_timeout = 60s;
  job.last_call = 2s;
  job.grace.stop = 5s;
  plan::Options& options = job.options;
  options.program = plan::Program::executable;
  options.max_restarts = dice.number(0, 2);
  options.gather_output = dice.chance(60);
  options.preflight = false;
  options.fabric = "off";
  if (dice.chance(75)) options.hang_timeout = 10s;
  options.on_hang = dice.chance(80) ? run::OnHang::restart : run::OnHang::report;
  job.place.engine = engines::EngineKind::manual;
  job.place.node_count = nodes;
  return job;
}

Fault fault(Dice& dice, int nodes) {
  using enum FaultKind;
  static constexpr FaultKind kinds[] = {
      rank_exits,   rank_killed,  agent_dies,    link_lost,     ranks_hang, ranks_hang, ranks_hang,
      places_asked, places_asked, output_stands, output_stands, signalled,  orphaned,   paused};
  Fault fault;
  fault.kind = kinds[dice.number(0, static_cast<int>(std::size(kinds)) - 1)];
  fault.at = dice.chance(30) ? dice.time(0ms, 500ms) : dice.time(0ms, longest_work);
  fault.node = static_cast<std::size_t>(dice.number(0, nodes - 1));
  fault.rank = static_cast<std::size_t>(dice.number(0, most_slots - 1));
  fault.code = dice.number(1, 50);
  fault.lasts = dice.time(0ms, 40s);
  return fault;
}

// A rank fails while the terminal stands, and it goes on when the attempt is about to be over.
void fail_while_output_stands(Dice& dice, Script& script) {
  Fault& stands = script.faults.back();
  Fault fails = stands;
  fails.kind = FaultKind::rank_exits;
  fails.at += dice.time(100ms, 3s);
  if (dice.chance(30)) script.lines = many_lines;
  stands.lasts = fails.at - stands.at + dice.time(0ms, 8s);
  script.faults.push_back(fails);
}

// Ranks of one attempt are asked and looked at, and the answers come when it is over and the next
// one begins.
void fail_in_a_look(Dice& dice, Script& script) {
  for (auto& job : script.jobs) {
    auto restarts = std::make_shared<plan::Job>(*job);
    restarts->nproc = most_slots;
    restarts->options.max_restarts = 2;
    restarts->options.hang_timeout = 10s;
    restarts->options.on_hang = run::OnHang::restart;
    job = std::move(restarts);
  }
  script.work = longest_work;
  script.ras_percent = 100;
  script.stubborn_percent = 0;
  script.pool = {};
  Fault fails;
  fails.kind = FaultKind::fails_in_look;
  fails.at = dice.time(8s, 15s);
  fails.node = static_cast<std::size_t>(dice.number(0, static_cast<int>(script.jobs.size()) - 1));
  fails.lasts = longest_work;
  script.faults = {fails};
}

// More output is under way than the terminal takes, when the attempt is over.
void fail_unread(Dice& dice, Script& script) {
  for (auto& job : script.jobs) {
    auto restarts = std::make_shared<plan::Job>(*job);
    restarts->options.max_restarts = 2;
    restarts->options.gather_output = true;
    job = std::move(restarts);
  }
  script.work = longest_work;
  script.lines = many_lines;
  script.pool = {};
  Fault fails;
  fails.kind = FaultKind::fails_unread;
  fails.at = dice.time(2s, 8s);
  fails.node = static_cast<std::size_t>(dice.number(0, static_cast<int>(script.jobs.size()) - 1));
  fails.lasts = dice.time(5s, 10s);
  script.faults = {fails};
}

Script without_faults(Dice& dice, std::uint64_t seed) {
  Script script;
  script.seed = seed;
  const int nodes = dice.number(1, most_nodes);
  plan::Job job = job_of(dice, nodes);
  for (int i = 0; i < nodes; ++i) {
    job.is_root = i == 0;
    job.place.my_node = i;
    job.place.node_name = fmt::format("n{}", i);
    script.jobs.push_back(std::make_shared<const plan::Job>(job));
  }
  script.work = dice.time(0ms, longest_work);
  script.lines = dice.number(0, 3);
  if (dice.chance(50)) script.lines = dice.number(0, few_lines);
  if (dice.chance(10)) script.lines = dice.number(0, many_lines);
  script.slowest_message = dice.chance(80) ? 5ms : 1'000ms;
  return script;
}

}  // namespace

std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::rank_exits:
      return "a rank exits";
    case FaultKind::rank_killed:
      return "a rank is killed";
    case FaultKind::agent_dies:
      return "the agent dies";
    case FaultKind::link_lost:
      return "the link is lost";
    case FaultKind::ranks_hang:
      return "the ranks hang";
    case FaultKind::fails_in_look:
      return "a rank hangs, and is killed while all are looked at";
    case FaultKind::fails_unread:
      return "a rank is killed while the terminal takes nothing";
    case FaultKind::places_asked:
      return "a process asks where the ranks stand";
    case FaultKind::output_stands:
      return "the terminal takes nothing";
    case FaultKind::signalled:
      return "an agent gets SIGTERM";
    case FaultKind::orphaned:
      return "a keeper is killed";
    case FaultKind::paused:
      return "a node is paused";
  }
  return {};
}

Script calm_script(std::uint64_t seed) {
  Dice dice(seed);
  return without_faults(dice, seed);
}

Script script(std::uint64_t seed) {
  Dice dice(seed);
  Script script = without_faults(dice, seed);
  if (dice.chance(60)) script.pool.late = dice.number(1, 40);
  if (dice.chance(20)) script.pool.never = dice.number(1, 10);
  if (dice.chance(20)) script.pool.full = dice.number(1, 10);
  script.stubborn_percent = dice.chance(20) ? dice.number(1, 100) : 0;
  script.ras_percent = dice.chance(50) ? 100 : 0;
  const int faults = dice.number(0, most_faults);
  for (int i = 0; i < faults; ++i) {
    script.faults.push_back(fault(dice, static_cast<int>(script.jobs.size())));
    if (script.faults.back().kind == FaultKind::output_stands && dice.chance(50)) {
      fail_while_output_stands(dice, script);
    }
  }
  if (dice.chance(5)) fail_in_a_look(dice, script);
  if (dice.chance(4)) fail_unread(dice, script);
  std::ranges::stable_sort(script.faults, {}, &Fault::at);
  return script;
}

}  // namespace toprun::rehearsal
