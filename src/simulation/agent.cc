#include "simulation/agent.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "simulation/world.h"

namespace toprun::simulation {

using namespace std::chrono_literals;

namespace {

constexpr milliseconds keeper_patience{10'000};  // with an agent that does not beat
constexpr std::size_t most_remembered = 64;
constexpr const char* own_error = "ValueError: a label is out of range";

}  // namespace

void Process::deliver(std::function<void()> what) {
  if (!alive_) return;
  if (!stopped_) return what();
  waiting_.push_back(std::move(what));
}

void Process::go_on() {
  stopped_ = false;
  while (alive_ && !stopped_ && !waiting_.empty()) {
    const auto what = std::move(waiting_.front());
    waiting_.pop_front();
    what();
  }
}

Agent::Agent(World& world, int index, Dice dice)
    : world_(world),
      index_(index),
      id_(fmt::format("agent{}", index)),
      host_(fmt::format("n{}", index)),
      dice_(dice) {}

rendezvous::Join Agent::join() const {
  const Scenario& scenario = world_.scenario();
  rendezvous::Join join;
  join.agent = id_;
  join.host = host_;
  join.slots = scenario.slots;
  join.nnodes = scenario.settings.ranks_in_place ? 0 : scenario.settings.size.most;
  if (scenario.settings.ranks_in_place) {
    join.node_index = index_;
    join.local_rank = 0;
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
  settings.has_container = scenario.container;
  settings.stop_grace = scenario.settings.grace.stop;
  part_.emplace(settings);
  carry_out();
}

void Agent::on(run::PartEvent event) {
  process_.deliver([self = shared_from_this(), event = std::move(event)] {
    if (self->part_->over()) return;
    self->part_->on(event, self->world_.timeline().now());
    self->carry_out();
  });
}

void Agent::carry_out() {
  for (auto actions = part_->take(); !actions.empty(); actions = part_->take()) {
    for (const run::PartAction& action : actions) {
      std::visit([this](const auto& what) { act(what); }, action);
    }
  }
  if (part_->over()) return leave();
  wait();
}

void Agent::wait() {
  if (!part_->wake_at()) return;
  world_.timeline().at(*part_->wake_at(), [self = shared_from_this()] {
    self->process_.deliver([self] {
      if (self->part_->over()) return;
      self->part_->pass(self->world_.timeline().now());
      self->carry_out();
    });
  });
}

// The process ends; the root's own does with the root.
void Agent::leave() {
  if (is_own() || !process_.is_alive()) return;
  world_.trace(host_ + " leaves");
  link_->close(Link::to_root);
  process_.die();
}

void Agent::told(const rendezvous::ToNode& message) {
  on(run::Told{message});
}

void Agent::root_lost(rendezvous::Loss loss) {
  on(run::RootLost{std::move(loss)});
}

void Agent::act(const run::Report& report) {
  if (reported_.size() < most_remembered) reported_.push_back(report.message);
  world_.to_root(*this, report.message);
}

// What it had said in an attempt that is over comes once more, as a slow network's would.
void Agent::say_again_what_was_old() {
  for (const rendezvous::ToRoot& message : reported_) {
    const bool of_an_attempt = std::holds_alternative<rendezvous::Ready>(message.what) ||
                               std::holds_alternative<rendezvous::Gone>(message.what) ||
                               std::holds_alternative<rendezvous::Started>(message.what) ||
                               std::holds_alternative<rendezvous::Failed>(message.what) ||
                               std::holds_alternative<agent::WorkerExit>(message.what);
    if (of_an_attempt && message.attempt && message.attempt < part_->assignment().attempt) {
      world_.to_root(*this, message);
    }
  }
}

void Agent::act(const run::FindStore& find) {
  const int attempt = find.assignment.attempt;
  const std::string store = find.assignment.store.agent;
  const milliseconds takes = dice_.chance(10) ? dice_.time(0s, 5s) : dice_.time(1ms, 300ms);
  world_.timeline().in(takes, [self = shared_from_this(), attempt, store] {
    if (self->world_.can_reach(store)) {
      return self->on(run::StoreFound{attempt, std::string("10.0.0.1")});
    }
    self->world_.timeline().in(self->dice_.time(500ms, 5s), [self, attempt] {
      self->on(run::StoreFound{attempt, fail("cannot reach the store")});
    });
  });
}

void Agent::act(const run::AwaitContainer& await) {
  const milliseconds takes =
      attempt_ >= 0 ? 0ms : world_.scenario().container_takes + dice_.time(0ms, 3s);
  world_.timeline().in(takes, [self = shared_from_this(), attempt = await.attempt] {
    const Result<void> failed = fail("the image is not there");
    self->on(run::ContainerUp{attempt, self->container_fails ? failed : Result<void>{}});
  });
}

void Agent::act(const run::StartWorkers& start) {
  world_.timeline().in(dice_.time(1ms, 50ms), [self = shared_from_this(), start] {
    self->process_.deliver([self, start] { self->start_workers(start); });
  });
}

void Agent::start_workers(const run::StartWorkers& start) {
  if (workers_fail_to_start) return on(run::WorkersStarted{fail("no such program")});
  world_.expect(living_workers() == 0, host_ + " starts ranks beside those of another attempt");
  attempt_ = start.assignment.attempt;
  stopping_ = false;
  ++told_;
  workers_.clear();
  for (int i = 0; i < start.assignment.nproc; ++i) {
    workers_.push_back({start.assignment.first_rank + i, attempt_, true,
                        dice_.chance(world_.scenario().stubborn_percent)});
  }
  world_.workers_started(*this, start.assignment);
  on(run::WorkersStarted{rendezvous::Started{start.assignment.first_rank, ""}});
}

int Agent::living_workers() const {
  return static_cast<int>(std::ranges::count_if(workers_, &Worker::alive));
}

bool Agent::runs(int rank) const {
  const auto worker = static_cast<std::size_t>(rank);
  return lives() && worker < workers_.size() && workers_[worker].alive;
}

void Agent::worker_ends(std::size_t worker, int attempt, int code, int signal, bool ours,
                        std::string exception) {
  if (attempt != attempt_ || worker >= workers_.size() || !workers_[worker].alive) return;
  workers_[worker].alive = false;
  if (living_workers() == 0) world_.workers_ended(*this, attempt);
  agent::WorkerExit exit;
  exit.host = host_;
  exit.rank = workers_[worker].rank;
  exit.local_rank = static_cast<int>(worker);
  exit.exit_code = code;
  exit.signal = signal;
  exit.ours = ours;
  exit.ended = world_.timeline().now();
  exit.exception = std::move(exception);
  world_.trace(fmt::format("{}: rank {} ends with {} signal {}{}", host_, exit.rank, code, signal,
                           ours ? ", told to" : ""));
  on(run::WorkerEnded{exit});
  if (exit.failed()) world_.peers_are_missed(attempt);
  if (living_workers() == 0) on(run::WorkersGone{});
}

void Agent::rank_raises(int rank, int code, milliseconds takes) {
  if (!runs(rank)) return;
  const int attempt = attempt_;
  const auto worker = static_cast<std::size_t>(rank);
  workers_[worker].raised = true;
  world_.timeline().in(takes, [self = shared_from_this(), worker, code, attempt] {
    self->worker_ends(worker, attempt, code, 0, self->stopping_, own_error);
  });
  world_.peers_are_missed(attempt);
}

void Agent::rank_is_killed(int rank, int signal) {
  worker_ends(static_cast<std::size_t>(rank), attempt_, 0, signal, stopping_, "");
}

void Agent::peers_are_missed(int attempt) {
  if (attempt != attempt_ || !process_.is_alive()) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    // It has an error of its own, or hangs.
    if (!workers_[i].alive || workers_[i].raised || dice_.chance(40)) continue;
    world_.timeline().in(dice_.time(1ms, 3s), [self = shared_from_this(), i, attempt] {
      self->worker_ends(i, attempt, 1, 0, self->stopping_,
                        "RuntimeError: Connection closed by peer [10.0.0.2]:4711");
    });
  }
}

void Agent::work_is_done(int attempt) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    world_.timeline().in(dice_.time(0ms, 200ms), [self = shared_from_this(), i, attempt] {
      if (i < self->workers_.size() && self->workers_[i].raised) return;
      self->worker_ends(i, attempt, 0, 0, false, "");
    });
  }
}

void Agent::act(const run::StopWorkers& stop) {
  stopping_ = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const bool stubborn = workers_[i].stubborn;
    const milliseconds takes = stubborn ? stop.grace : std::min(stop.grace, dice_.time(0ms, 900ms));
    const int signal = stubborn || stop.grace == 0ms ? SIGKILL : SIGTERM;
    world_.timeline().in(takes, [self = shared_from_this(), i, signal, attempt = attempt_] {
      const bool raised = i < self->workers_.size() && self->workers_[i].raised;
      self->worker_ends(i, attempt, 0, signal, true, raised ? own_error : "");
    });
  }
  if (living_workers() == 0) on(run::WorkersGone{});
}

void Agent::act(const run::InterruptWorkers& interrupt) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].stubborn) continue;
    const int signal = dice_.chance(world_.scenario().graceful_percent) ? 0 : interrupt.signal;
    world_.timeline().in(dice_.time(0ms, 900ms),
                         [self = shared_from_this(), i, signal, attempt = attempt_] {
                           self->worker_ends(i, attempt, 0, signal, true, "");
                         });
  }
}

void Agent::act(const run::TellUser& tell) {
  world_.trace(host_ + " says: " + tell.text);
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
  world_.timeline().in(dice_.time(0ms, 20ms), [self = shared_from_this()] { self->workers_die(); });
  world_.process_ended(*this);
}

void Agent::keeper_dies() {
  if (!lives() || !part_) return;
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
  process_.stop();
  if (link_) link_->cut(Link::to_root);
  const bool too_long = time >= keeper_patience;
  world_.timeline().in(std::min(time, keeper_patience), [self = shared_from_this(), too_long] {
    if (!self->lives()) return;
    if (too_long) return self->agent_dies();
    if (self->link_) self->link_->mend(Link::to_root);
    self->process_.go_on();
  });
}

void Agent::signal(int signal) {
  if (!lives() || !part_) return;
  on(run::GotSignal{signal, run::SignalMeaning::end, false});
}

void Agent::speak_nonsense() {
  if (lives() && part_ && !is_own()) world_.malformed_from(*this);
}

}  // namespace toprun::simulation
