#include "run/simulation/agent.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "run/simulation/world.h"

namespace toprun::simulation {

using namespace std::chrono_literals;

namespace {

constexpr milliseconds keeper_limit{10'000};  // time without heartbeats
constexpr milliseconds pool_limit{20'000};    // for the files of the ranks
constexpr milliseconds late_store{20'000};    // within the limit of getting ready
constexpr std::size_t most_remembered = 16;
constexpr std::string_view id_prefix = "agent";
constexpr const char* programs_error = "ValueError: a label is out of range";
constexpr const char* machines_error =
    "RuntimeError: CUDA error: uncorrectable ECC error encountered";

std::string address_of(std::string_view agent) {
  return fmt::format("10.0.0.{}", Agent::index_in(agent).value_or(0));
}

int pid_of(int rank) {
  return 1000 + rank;
}

bool is_of_an_attempt(const model::ToRoot& message) {
  return message.attempt && (std::holds_alternative<model::Ready>(message.what) ||
                             std::holds_alternative<model::Gone>(message.what) ||
                             std::holds_alternative<model::Started>(message.what) ||
                             std::holds_alternative<model::Arrivals>(message.what) ||
                             std::holds_alternative<model::Failed>(message.what) ||
                             std::holds_alternative<Shared<model::WorkerExit>>(message.what));
}

}  // namespace

Agent::Agent(World& world, int index, int place, Dice dice)
    : world_(world),
      index_(index),
      place_(place),
      id_(fmt::format("{}{}", id_prefix, index)),
      host_(name_of_node(place, world.scenario().long_names)),
      dice_(dice) {}

std::optional<std::size_t> Agent::index_in(std::string_view id) {
  if (!id.starts_with(id_prefix)) return std::nullopt;
  const auto index = parse_int(id.substr(id_prefix.size()));
  return index ? std::optional(static_cast<std::size_t>(*index)) : std::nullopt;
}

model::Join Agent::join() const {
  const Scenario& scenario = world_.scenario();
  model::Join join;
  join.agent = id_;
  join.host = host_;
  join.slots = scenario.slots;
  join.prepares = scenario.container || scenario.unfit == place_ || scenario.sick ||
                  scenario.seed % 2 == 0;  // or it just says so
  if (scenario.long_names) join.addresses.assign(model::most_addresses, "10.0.0.1");
  join.nnodes = scenario.settings.ranks_in_place ? 0 : scenario.settings.size.most;
  if (scenario.settings.ranks_in_place) {
    join.node_index = index_;
    join.local_rank = 0;
  } else if (scenario.has_indices) {
    join.node_index = place_;
  }
  return join;
}

void Agent::begin() {
  const Scenario& scenario = world_.scenario();
  run::PartSettings settings;
  settings.host = host_;
  settings.root = "n0";
  settings.is_own = is_own();
  settings.elastic = scenario.settings.elastic;
  settings.prepares_workplace = scenario.container || scenario.sick;
  settings.stop_grace = scenario.settings.grace.stop;
  if (scenario.unfit == place_) settings.unfit = fail("it has no such device").error();
  part_.emplace(settings);
  carry_out();
}

void Agent::on(run::PartEvent&& event) {
  if (!process_.is_stopped()) return process_.deliver([&] { happened(std::move(event)); });
  process_.deliver([this, event = std::move(event)]() mutable { happened(std::move(event)); });
}

void Agent::happened(run::PartEvent&& event) {
  if (part_->over()) return;
  if (const auto* got = std::get_if<run::GotSignal>(&event)) heard(*got);
  Notices due = notices_due(event);
  due.to_ranks += notices_.to_ranks;
  due.to_root += notices_.to_root;
  part_->on(std::move(event), world_.timeline().now());
  carry_out();
  world_.expect(notices_ == due, "{}: its ranks get {} notices and the root {}, not {} and {}",
                host_, notices_.to_ranks, notices_.to_root, due.to_ranks, due.to_root);
}

void Agent::carry_out() {
  for (auto actions = part_->take(); !actions.empty(); actions = part_->take()) {
    for (run::PartAction& action : actions) std::visit([this](auto& what) { act(what); }, action);
  }
  if (part_->over()) return leave();
  wait();
}

void Agent::wait() {
  if (!part_->wake_at()) return;
  world_.timeline().at(*part_->wake_at(), [this] {
    process_.deliver([this] {
      if (part_->over()) return;
      part_->pass(world_.timeline().now());
      carry_out();
    });
  });
}

// Ends the process; the root's own agent ends with the root.
void Agent::leave() {
  if (is_own() || !process_.is_alive()) return;
  world_.trace("{} leaves", host_);
  link_->close(Link::to_root);
  process_.die();
}

void Agent::reported(model::ToNode&& message) {
  is_dismissed_ = is_dismissed_ || std::holds_alternative<model::Finish>(message);
  on(run::MessageReceived{std::move(message)});
}

void Agent::root_lost(model::Loss loss) {
  if (loss.kind == model::Loss::Kind::silent) check_fence();
  on(run::RootLost{std::move(loss)});
}

void Agent::act(run::Report& report) {
  if (reported_.size() < most_remembered && is_of_an_attempt(report.message)) {
    reported_.push_back(report.message);
  }
  if (std::holds_alternative<model::Notice>(report.message.what)) ++notices_.to_root;
  world_.to_root(*this, std::move(report.message));
}

// Sends messages from earlier attempts again, each once, like a slow network.
void Agent::repeat_old_messages() {
  const auto old = std::ranges::stable_partition(reported_, [this](const model::ToRoot& message) {
    return message.attempt >= part_->assignment().attempt;
  });
  for (model::ToRoot& message : old) world_.to_root(*this, std::move(message));
  reported_.erase(old.begin(), old.end());
}

void Agent::act(const run::FindStore& find) {
  if (world_.old_messages_return()) {
    const milliseconds later = dice_.chance(50) ? dice_.time(0ms, 300ms) : dice_.time(0s, 10s);
    world_.timeline().in(later, [this] {
      if (lives()) repeat_old_messages();
    });
  }
  if (std::exchange(finds_no_store, false)) {
    was_disturbed_ = true;
    return;
  }
  const int attempt = find.assignment->attempt;
  const std::string store = find.assignment->store->agent;
  milliseconds takes = dice_.chance(10) ? dice_.time(0s, 5s) : dice_.time(1ms, 300ms);
  if (late_stores > 0) {
    takes = dice_.time(5s, late_store);
    if (late_stores-- == 2) world_.another_dies(*this);
  }
  world_.timeline().in(takes, [this, attempt, store] {
    if (world_.can_reach(store)) {
      return on(run::StoreFound{attempt, address_of(store)});
    }
    world_.timeline().in(dice_.time(500ms, 5s), [this, attempt] {
      on(run::StoreFound{attempt, fail(std::string(store_unreachable))});
    });
  });
}

bool Agent::is_sick_at(int attempt) const {
  const auto& sick = world_.scenario().sick;
  return sick && sick->node == place_ && attempt >= sick->attempt;
}

void Agent::act(const run::AwaitWorkplace& await) {
  if (std::exchange(has_no_workplace, false)) {
    was_disturbed_ = true;
    return;
  }
  if (has_full_pool()) {
    return world_.timeline().in(0ms, [this, attempt = await.attempt] {
      on(run::WorkplaceReady{attempt, fail("no word from what prepares it")});
    });
  }
  if (is_sick_at(await.attempt)) {
    // Once again only if the attempt ended for another reason before the root had heard of it.
    world_.expect(++said_unfit_ <= 2, "{}: attempt {} asks for a sick node again", host_,
                  await.attempt);
    return world_.timeline().in(dice_.time(0ms, 10s), [this, attempt = await.attempt] {
      on(run::WorkplaceReady{attempt, fail("GPU 4 fell off the bus"), model::Failing::taking_part});
    });
  }
  const milliseconds takes =
      attempt_ >= 0 ? 0ms : world_.scenario().container_takes + dice_.time(0ms, 3s);
  world_.timeline().in(takes, [this, attempt = await.attempt] {
    if (!world_.scenario().settings.stage_key.empty() && !is_own()) {
      model::Staged staged{milliseconds(5), std::uint64_t{1} << 40, ""};
      if (dice_.chance(10)) staged.why_not = "no room";
      on(run::CopySettled{attempt, std::move(staged)});
    }
    const Result<void> failed = fail("the image is not there");
    if (!container_fails) has_workplace_for_ = std::max(has_workplace_for_, attempt);
    on(run::WorkplaceReady{attempt, container_fails ? failed : Result<void>{}});
  });
}

void Agent::act(const run::StartWorkers& start) {
  const int attempt = part_->assignment().attempt;
  world_.expect(start.master_addr == address_of(start.assignment->store->agent),
                "{}: ranks of attempt {} get another store", host_, attempt);
  world_.expect(!world_.scenario().container || has_workplace_for_ == attempt,
                "{}: ranks of attempt {} start before its container is up", host_, attempt);
  world_.expect(!world_.was_evicted(host_), "{}: ranks of attempt {} start after its eviction",
                host_, attempt);
  world_.expect(!is_sick_at(attempt), "{}: ranks of attempt {} start on a sick node", host_,
                attempt);
  const bool is_full = has_full_pool();
  if (std::exchange(starts_no_ranks, false) || is_full) {
    world_.timeline().in(pool_limit / 2, [this] { notice(false); });
    return world_.timeline().in(is_full ? 0ms : pool_limit, [this] {
      on(run::WorkersStarted{fail("the folders and files of its ranks")});
    });
  }
  world_.timeline().in(dice_.time(1ms, 50ms), [this] {
    process_.deliver([this] { start_workers(part_->assignment()); });
  });
}

void Agent::start_workers(const model::Assignment& part) {
  if (workers_fail_to_start) return on(run::WorkersStarted{fail("no such program")});
  world_.expect(living_workers() == 0, "{} starts ranks while those of another attempt still run",
                host_);
  attempt_ = part.attempt;
  stopping_ = false;
  flushing_ = false;
  ordered_to_end_.reset();
  hangs_since_.reset();
  workers_.clear();
  model::Started started{part.first_rank, ""};
  for (int rank = part.first_rank; rank < part.first_rank + part.nproc; ++rank) {
    workers_.push_back({rank, attempt_, true, dice_.chance(world_.scenario().stubborn_percent),
                        dice_.chance(world_.scenario().saving_percent)});
    started.pids.push_back(pid_of(rank));
  }
  world_.workers_started(*this, attempt_, part.first_rank, part.nproc);
  if (says_twice()) world_.to_root(*this, {attempt_, started});
  on(run::WorkersStarted{std::move(started)});
  if (dice_.chance(20)) {
    world_.to_root(*this, {attempt_, model::Prefetched{milliseconds(700)}});
  }
  for (int lines = world_.scenario().gathers_output ? dice_.number(0, 6) : 0; lines > 0; --lines) {
    world_.timeline().in(dice_.time(0ms, 5s), [this, attempt = attempt_] {
      if (attempt == attempt_ && living_workers() > 0) print(dice_.chance(50) ? 300 : 20);
    });
  }
  if (part.store->agent == id_) ranks_come(attempt_, part.world_size);
}

// The store here hears of ranks, which some name by their keys, some by their process ids; a few
// are children of the processes that the agents know, and some had no time to come.
void Agent::ranks_come(int attempt, int world_size) {
  const int came = dice_.chance(80) ? world_size : dice_.number(0, world_size);
  const bool have_met = dice_.chance(60);
  model::Arrivals arrivals;
  for (int rank = 0; rank < came; ++rank) {
    model::Arrivals::Rank one{pid_of(rank), std::nullopt, dice_.time(0ms, 500ms), {}};
    if (have_met) one.met_age = dice_.time(0ms, one.joined_age);
    if (dice_.chance(20)) one.rank = rank;
    if (dice_.chance(10)) one.pid = pid_of(world_size + rank);
    arrivals.hosts.push_back({fmt::format("10.0.0.{}", rank), {one}});
  }
  world_.timeline().in(dice_.time(1ms, 3s),
                       [this, attempt, arrivals = std::move(arrivals)]() mutable {
                         on(run::RanksArrived{attempt, std::move(arrivals)});
                       });
}

bool Agent::has_full_pool() const {
  return pool_is_full_until && world_.timeline().now() < *pool_is_full_until;
}

int Agent::living_workers() const {
  return static_cast<int>(std::ranges::count_if(workers_, &Worker::alive));
}

bool Agent::runs(int rank) const {
  const auto worker = static_cast<std::size_t>(rank);
  return lives() && worker < workers_.size() && workers_[worker].alive;
}

const char* Agent::own_error() const {
  return world_.scenario().broken == place_ ? machines_error : programs_error;
}

void Agent::worker_ends(std::size_t worker, int attempt, int code, int signal, bool ours,
                        std::string exception) {
  if (attempt != attempt_ || worker >= workers_.size() || !workers_[worker].alive) return;
  workers_[worker].alive = false;
  if (living_workers() == 0) world_.workers_ended(*this, attempt);
  model::WorkerExit exit;
  exit.host = host_;
  exit.rank = workers_[worker].rank;
  exit.local_rank = static_cast<int>(worker);
  exit.exit_code = code;
  exit.signal = signal;
  exit.ours = ours;
  exit.ended = world_.timeline().now();
  exit.exception = std::move(exception);
  const bool own = exit.exception == own_error();
  if (own && world_.scenario().records_errors) {
    exit.error_file = model::ErrorFile{"error.json", own_error(), workers_[worker].raised};
  }
  if (own || (exit.failed() && !ours && exit.exception.empty())) world_.rank_failed(attempt, exit);
  world_.trace("{}: rank {} ends with {} signal {}{}", host_, exit.rank, code, signal,
               ours ? ", told to" : "");
  const bool failed = exit.failed();
  print(failed ? 90 : 9);
  on(run::WorkerEnded{std::move(exit)});
  if (failed) world_.peers_are_missed(attempt);
  if (living_workers() == 0) flush();
}

void Agent::rank_raises(int rank, int code, milliseconds takes) {
  if (!runs(rank)) return;
  const int attempt = attempt_;
  const auto worker = static_cast<std::size_t>(rank);
  workers_[worker].raised = world_.timeline().now();
  world_.timeline().in(takes, [this, worker, code, attempt] {
    worker_ends(worker, attempt, code, 0, stopping_, own_error());
  });
  world_.peers_are_missed(attempt);
}

void Agent::rank_is_killed(int rank, int signal) {
  worker_ends(static_cast<std::size_t>(rank), attempt_, 0, signal, stopping_, "");
}

void Agent::peers_are_missed(int attempt) {
  if (attempt != attempt_ || !process_.is_alive()) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    // The rank has an error of its own, or hangs.
    if (!workers_[i].alive || workers_[i].raised || dice_.chance(40)) continue;
    world_.timeline().in(dice_.time(1ms, 3s), [this, i, attempt] {
      worker_ends(i, attempt, 1, 0, stopping_,
                  "RuntimeError: Connection closed by peer [10.0.0.2]:4711");
    });
  }
}

void Agent::work_is_done(int attempt) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    world_.timeline().in(dice_.time(0ms, 200ms), [this, i, attempt] {
      if (i < workers_.size() && workers_[i].raised) return;
      worker_ends(i, attempt, 0, 0, false, "");
    });
  }
}

bool Agent::says_twice() const {
  constexpr std::uint64_t one_run_of = 8;
  return !is_own() && world_.scenario().seed % one_run_of == 3;
}

milliseconds Agent::time_to_obey(const Worker& worker) {
  return worker.saves ? dice_.time(1s, 12s) : dice_.time(0ms, 900ms);
}

void Agent::act(const run::StopWorkers& stop) {
  check_grace(stop.grace);
  stopping_ = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const milliseconds wants = time_to_obey(workers_[i]);
    const bool is_killed = workers_[i].stubborn || wants >= stop.grace;
    const milliseconds takes = is_killed ? stop.grace : wants;
    const int signal = is_killed ? SIGKILL : SIGTERM;
    world_.timeline().in(takes, [this, i, signal, attempt = attempt_] {
      const bool raised = i < workers_.size() && workers_[i].raised.has_value();
      worker_ends(i, attempt, 0, signal, true, raised ? own_error() : "");
    });
  }
  if (living_workers() == 0) flush_in_time();
}

void Agent::act(const run::InterruptWorkers& interrupt) {
  if (!ordered_to_end_) ordered_to_end_ = world_.timeline().now();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].stubborn) continue;
    const int signal = dice_.chance(world_.scenario().graceful_percent) ? 0 : interrupt.signal;
    world_.timeline().in(time_to_obey(workers_[i]), [this, i, signal, attempt = attempt_] {
      worker_ends(i, attempt, 0, signal, true, "");
    });
  }
}

void Agent::act(const run::TellUser& tell) {
  world_.trace("{} says: {}", host_, tell.text);
}

void Agent::network_refused() {
  if (!lives() || !part_) return;
  on(run::NetworkRefused{attempt_, fail("not the required network").error()});
}

void Agent::ranks_hang(int attempt, std::optional<int> guilty) {
  const auto& limit = world_.scenario().settings.hang_timeout;
  if (attempt != attempt_ || !lives() || !limit) return;
  guilty_ = guilty;
  const SteadyTime since = world_.timeline().now();
  hangs_since_ = since;
  world_.timeline().in(*limit / 2 + dice_.time(0s, 1s), [this, attempt, since] {
    if (hangs_since_ != since || attempt != attempt_ || living_workers() == 0) return;
    const bool some_wait = !guilty_ || living_workers() > 1;
    on(run::StillnessChanged{attempt, {{since, some_wait}}});
  });
}

void Agent::ranks_go_on(int attempt) {
  if (attempt != attempt_ || !lives() || !std::exchange(hangs_since_, std::nullopt)) return;
  on(run::StillnessChanged{attempt, std::nullopt});
}

void Agent::act(const run::LookAtWorkers& look) {
  if (has_full_pool()) return;  // the driver says nothing where it has seen nothing
  const milliseconds takes = dice_.chance(5) ? dice_.time(0s, 5s) : dice_.time(1ms, 300ms);
  world_.timeline().in(
      takes, [this, look] { process_.deliver([this, look] { looked_at_workers(look); }); });
}

void Agent::looked_at_workers(const run::LookAtWorkers& look) {
  hang::Groups groups;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    hang::Standing standing;
    const bool waits = guilty_ != static_cast<int>(i);
    standing.doing = waits ? hang::Doing::communicates : hang::Doing::waits;
    groups.add(standing, std::array{workers_[i].rank});
  }
  happened(run::LookedAtWorkers{look.attempt, {look.look, std::move(groups).take()}});
}

void Agent::workers_die() {
  const int attempt = attempt_;
  const int ended = living_workers();
  for (Worker& worker : workers_) worker.alive = false;
  world_.workers_ended(*this, attempt);
  if (ended > 0) world_.peers_are_missed(attempt);
}

void Agent::agent_dies() {
  if (!lives()) return;
  process_.die();
  if (link_) link_->break_off(Link::to_root);
  world_.timeline().in(dice_.time(0ms, 20ms), [this] { workers_die(); });
  world_.process_ended(*this);
}

void Agent::keeper_dies() {
  if (!lives() || !part_) return;
  may_kill_at_once_ = true;
  if (is_own()) world_.root_is_ordered_to_end();
  on(run::KeeperLost{"the keeper of its agent was killed", 0ms});
}

void Agent::both_die() {
  if (!lives()) return;
  process_.die();
  workers_die();
  if (link_) link_->break_off(Link::to_root);
  world_.process_ended(*this);
}

void Agent::node_dies() {
  if (!lives()) return;
  process_.die();
  workers_die();
  if (link_) link_->fall_silent(Link::to_root);
  world_.process_ended(*this);
}

void Agent::stop_for(milliseconds time) {
  if (!lives() || process_.is_stopped()) return;
  was_disturbed_ = true;
  process_.stop();
  if (link_) link_->cut(Link::to_root);
  const bool too_long = time >= keeper_limit;
  world_.timeline().in(std::min(time, keeper_limit), [this, too_long] {
    if (!lives()) return;
    if (too_long) return agent_dies();
    if (link_) link_->repair(Link::to_root);
    process_.go_on();
  });
}

void Agent::signal(int signal, int deliveries) {
  for (int i = 0; i < deliveries; ++i) {
    world_.timeline().in(i == 0 ? 0ms : dice_.time(0ms, 400ms), [this, signal] {
      if (lives() && part_) on(run::GotSignal{signal, run::SignalMeaning::end, false});
    });
  }
}

void Agent::ask_to_grow() {
  if (lives() && part_) on(run::GotSignal{SIGURG, run::SignalMeaning::grow, false});
}

void Agent::notice(bool for_all) {
  if (lives() && part_) on(run::GotSignal{SIGUSR1, run::SignalMeaning::notice, for_all});
}

void Agent::send_malformed() {
  if (lives() && part_ && !is_own()) world_.malformed_from(*this);
}

}  // namespace toprun::simulation
