#include "run/simulation/world.h"

#include <signal.h>

#include <algorithm>

#include "base/text/text.h"

namespace toprun::simulation {

using namespace std::chrono_literals;

namespace {

// Limit of steps in one instant; more indicate an endless loop without progress of time.
constexpr std::uint64_t steps_at_once_per_agent = 1'000;
constexpr milliseconds mute_limit{300'000};  // until a mute node's user ends the job
constexpr int most_flaps = 10;
// In one run of so many, members are linked so long after they were admitted.
constexpr std::uint64_t one_with_a_late_link = 16;
constexpr milliseconds late_link{4'000};

// The time limit for a run after its last fault: some attempts of full length, each with all
// possible waits.
milliseconds limit_of(const Scenario& scenario) {
  const run::Settings& settings = scenario.settings;
  const milliseconds attempt = settings.join_timeout + settings.last_call + 6s +
                               settings.silence_limit + scenario.container_takes + scenario.work +
                               settings.grace.stop + settings.grace.own_exit + 30s + 60s +
                               settings.arrange_limit + settings.prepare_limit + mute_limit;
  return attempt * (settings.max_restarts + 2 + static_cast<int>(scenario.faults.size()));
}

}  // namespace

World::World(Scenario scenario, bool tells)
    : scenario_(std::move(scenario)), tells_(tells), dice_(scenario_.seed * 2 + 1) {}

void World::tell(const std::string& what) const {
  const auto since = timeline_.now() - SteadyTime() - std::chrono::hours(1);
  fmt::print("{:>9.3f} s  {}\n", std::chrono::duration<double>(since).count(), what);
}

void World::report_broken_promise(std::string promise) {
  if (!broken_.empty()) return;
  trace("BROKEN: {}", promise);
  broken_ = std::move(promise);
}

Agent* World::agent(const std::string& id) const {
  const auto index = Agent::index_in(id);
  return index && *index < agents_.size() ? agents_[*index].get() : nullptr;
}

Outcome World::play() {
  const SteadyTime began = timeline_.now();
  coordinator_.emplace(scenario_.settings, timeline_.moment());
  for (int i = 0; i < scenario_.agents; ++i) add_agent();
  stage_since_ = began;
  other_faults_ = disturbed_ = scenario_.unfit || scenario_.sick;
  join(root());
  for (std::size_t i = 1; i < agents_.size(); ++i) {
    const milliseconds late = dice_.chance(2)    ? dice_.time(20s, 100s)
                              : dice_.chance(10) ? dice_.time(0s, 20s)
                                                 : dice_.time(0s, 1s);
    timeline_.in(late, [this, agent = agents_[i].get()] { join(*agent); });
  }
  carry_out();
  last_fault_ = timeline_.now();
  for (const Fault& fault : scenario_.faults) {
    timeline_.in(fault.at, [this, fault] { inject(fault); });
    last_fault_ = std::max(last_fault_, began + fault.at + fault.lasts);
  }
  const SteadyTime limit = last_fault_ + limit_of(scenario_);
  const std::uint64_t most_steps = steps_at_once_per_agent * (agents_.size() + 1);
  while (broken_.empty() && timeline_.step(limit)) {
    expect(timeline_.steps_of_this_instant() <= most_steps, "time stands still: {} steps at once",
           most_steps);
  }
  if (broken_.empty()) check_end();
  return {broken_, coordinator_->course().verdict.exit_code,
          static_cast<int>(coordinator_->course().attempts.size()),
          std::chrono::duration_cast<milliseconds>(timeline_.now() - began), timeline_.steps()};
}

Agent& World::add_agent(std::optional<int> place) {
  const int index = static_cast<int>(agents_.size());
  Dice dice(scenario_.seed * 1'000'003 + static_cast<std::uint64_t>(index));
  return *agents_.emplace_back(std::make_unique<Agent>(*this, index, place.value_or(index), dice));
}

// The handshake: the root admits or refuses the agent; the link opens a little later.
void World::join(Agent& agent) {
  if (!agent.lives() || !root().lives() || over_) return agent.process().die();
  root().process().deliver([this, &agent] {
    model::Join who = agent.join();
    if (scenario_.encodes) {
      const auto read = model::join_in(nlohmann::json::parse(nlohmann::json(who).dump()));
      expect(read.has_value(), "{} cannot join: {}", agent.host(), read ? "" : read.error().line());
      if (read) who = *read;
    }
    const auto refused = coordinator_->admit(who);
    if (refused) {
      trace("{} is refused: {}", agent.host(), refused->text);
    } else {
      trace("{} is admitted", agent.host());
    }
    carry_out();
    if (refused) return agent.process().die();
    milliseconds takes = dice_.chance(10) ? dice_.time(0s, 3s) : dice_.time(0ms, 300ms);
    if (scenario_.seed % one_with_a_late_link == 5) takes += late_link;
    timeline_.in(agent.is_own() ? 0ms : takes, [this, &agent] {
      if (!root().lives() || over_) return agent.process().die();  // it never joins
      root().process().deliver([this, &agent] { link(agent); });
    });
  });
}

void World::link(Agent& agent) {
  const milliseconds slowest = agent.is_own() ? 0ms : scenario_.slowest_message;
  agent.attach(std::make_unique<Link>(
      timeline_, Dice(scenario_.seed + 77 * static_cast<std::uint64_t>(agent.index())), slowest,
      Link::End{root().process(),
                [this, &agent](const auto& loss) {
                  happened(run::Left{agent.id(), loss});
                }},
      Link::End{agent.process(),
                [&agent](const auto& loss) { agent.root_lost(loss.value_or(model::Loss{})); }}));
  happened(
      run::Came{agent.id(), agent.is_own() ? "" : fmt::format("10.0.0.{}", agent.index()), ""});
  if (!agent.lives()) return agent.link()->break_off(Link::to_root);
  agent.begin();
}

void World::happened(run::Event&& event) {
  if (const auto* left = std::get_if<run::Left>(&event)) {
    trace("root: {} left{}", left->agent, left->loss ? ": " + left->loss->words : " in good order");
  }
  const std::size_t printed = notice(event);
  const std::size_t shown_before = shown_bytes_;
  const std::string fails = failing_attempt(event);
  expect_notices(event);
  coordinator_->on(std::move(event), timeline_.moment());
  carry_out();
  check_notices();
  expect(fails.empty() || stopped_at_ || coordinator_->stage() != run::Stage::running,
         "the root takes no notice that {}", fails);
  is_asked_to_grow_ = false;
  expect(shown_bytes_ - shown_before >= printed, "{} bytes of output are dropped", printed);
}

void World::carry_out() {
  for (auto actions = coordinator_->take(); !actions.empty(); actions = coordinator_->take()) {
    for (run::Action& action : actions) std::visit([this](auto& what) { act(what); }, action);
  }
  const auto& attempts = coordinator_->course().attempts;
  for (const run::AttemptCourse& attempt : attempts) {
    if (attempt.number < checked_attempts_ || !attempt.ended) continue;
    check_attempt(attempt);
    checked_attempts_ = attempt.number + 1;
  }
  check_stage();
  check_growth();
  check_record();
  expect(coordinator_->roster().nodes().size() <= agents_.size(), "more nodes are known than came");
  expect(coordinator_->course().restarts <= scenario_.settings.max_restarts, "too many restarts");
  wait();
}

void World::wait() {
  const auto at = coordinator_->wake_at();
  if (!at || at == wakes_at_) return;
  wakes_at_ = at;
  timeline_.at(*at, [this] {
    wakes_at_.reset();
    root().process().deliver([this] {
      const auto due = coordinator_->wake_at();
      if (!due || timeline_.now() < *due) return;
      coordinator_->pass(timeline_.moment());
      carry_out();
    });
  });
}

void World::act(run::Send& send) {
  Agent* const to = agent(send.agent);
  check_message(send);
  if (const auto* part = std::get_if<Shared<model::Assignment>>(&send.message)) {
    check_assignment(send.agent, *part);
    if (store_is_to_die_) store_dies((*part)->store->agent);
  }
  if (to == nullptr || to->link() == nullptr) return;
  if (scenario_.encodes) send.message = as_read(std::move(send.message));
  to->link()->send(Link::to_node, [to, message = std::move(send.message)]() mutable {
    to->reported(std::move(message));
  });
}

void World::act(const run::Close& close) {
  closing_.insert(close.agent);
  Agent* const to = agent(close.agent);
  if (to != nullptr && to->link() != nullptr) to->link()->close(Link::to_node);
}

void World::act(const run::Say& say) {
  trace("root says: {}", say.text);
  check_loss(say.text);
  check_eviction(say.text);
}

// Only the node whose machine is at fault leaves for it, and only once.
void World::check_eviction(const std::string& text) {
  const auto end = text.find(" leaves the job: rank ");
  if (end == text.npos) return;
  const std::string host = text.substr(0, end);
  expect(scenario_.broken && host == name_of_node(*scenario_.broken, scenario_.long_names),
         "{} is evicted, and its machine is sound", host);
  expect(evicted_.insert(host).second, "{} is evicted twice", host);
}

void World::act(const run::Arrange& request) {
  check_members(request);
  run::Arranged answer{request.attempt, run::Arrangement{}, {}, {}};
  run::Arrangement& plan = *answer.arrangement;
  int first = 0;
  std::size_t unneeded = request.members.size() - request.seats;
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    const std::size_t others = request.members.size() - i;
    const bool is_spare =
        unneeded > 0 && i >= request.staying && (unneeded == others || dice_.chance(50));
    if (is_spare) {
      --unneeded;
      answer.spares.push_back(i);
      continue;
    }
    model::Assignment part;
    part.group_rank = static_cast<int>(plan.parts.size());
    part.group_world_size = static_cast<int>(request.seats);
    part.first_rank = first;
    part.nproc = request.members[i].slots;
    part.local_world_size = part.nproc;
    first += part.nproc;
    plan.nodes.push_back(plan.parts.size());
    plan.parts.push_back(part);
  }
  for (model::Assignment& part : plan.parts) part.world_size = first;
  plan.store_host =
      static_cast<std::size_t>(dice_.number(0, static_cast<int>(plan.parts.size()) - 1));
  // Where nodes start with their assignment if it is on the root's.
  if (!request.members.front().prepares && plan.store_host % 4 != 0) plan.store_host = 0;
  if (root().has_full_pool()) return;  // as if it came late: a driver says so at once
  milliseconds takes = dice_.chance(10) ? dice_.time(0s, 6s) : dice_.time(0ms, 20ms);
  if (late_orders_ > 0) timeline_.in(1s, [this] { ask_for_places(); });
  if (late_orders_ == 2) {
    takes = slow_order(request.members.back().agent);
  } else if (late_orders_ == 1) {
    late_orders_ = 0;
    if (dice_.chance(50)) return;  // never
    takes = dice_.time(10s, 100s);
  }
  timeline_.in(takes, [this, answer = std::move(answer)]() mutable {
    root().process().deliver(
        [this, answer = std::move(answer)]() mutable { happened(std::move(answer)); });
  });
}

// The member dies meanwhile; the answer for it may come when the next order is computed.
milliseconds World::slow_order(const std::string& member) {
  late_orders_ = 1;
  Agent& dies = *agent(member);
  if (!dies.is_own()) timeline_.in(dice_.time(100ms, 2s), [&dies] { dies.both_die(); });
  return dice_.time(5s, 30s);
}

// While the one looks for its store, whose answer may come when it looks for the next attempt's.
void World::another_dies(const Agent& one) {
  const auto other = std::ranges::find_if(agents_, [&](const auto& each) {
    return each.get() != &one && !each->is_own() && is_member(*each);
  });
  if (other == agents_.end()) return;
  timeline_.in(dice_.time(100ms, 2s), [dies = other->get()] { dies->both_die(); });
}

void World::act(const run::AskEngine&) {
  if (root().has_full_pool()) {
    timeline_.in(0ms,
                 [this] { root().process().deliver([this] { happened(run::EngineAnswered{}); }); });
    return;
  }
  if (dice_.chance(10)) return;  // the engine does not answer
  timeline_.in(dice_.time(0s, 3s),
               [this] { root().process().deliver([this] { happened(run::EngineAnswered{}); }); });
}

void World::act(const run::TellEnd&) {
  trace("root: the run is over: {}", coordinator_->course().verdict.message);
  if (end_is_not_reported_) return;
  timeline_.in(dice_.time(0s, 2s), [this] {
    root().process().deliver([this] { happened(run::EndReported{"over"}); });
  });
}

// The root's process ends, and every link that is still open breaks.
void World::act(const run::Over&) {
  trace("root: all have parted");
  over_ = true;
  timeline_.in(0ms, [this] {
    for (const auto& one : agents_) {
      if (!one->is_own() && one->link() != nullptr) one->link()->break_off(Link::to_node);
    }
  });
}

void World::to_root(Agent& from, model::ToRoot&& message) {
  if (from.is_mute()) return;
  if (scenario_.encodes) message = as_read(std::move(message));
  from.link()->send(Link::to_root, [this, &from, message = std::move(message)]() mutable {
    if (root().lives() && !over_) happened(run::Said{from.id(), std::move(message)});
  });
}

void World::malformed_from(Agent& agent) {
  agent.link()->send(Link::to_root, [this, id = agent.id()] {
    if (!root().lives() || over_) return;
    act(run::Close{id});
    happened(run::Left{id, model::Loss{model::Loss::Kind::malformed, "nonsense"}});
  });
}

bool World::can_reach(const std::string& id) const {
  const Agent* const store = agent(id);
  return store != nullptr && store->lives();
}

void World::peers_are_missed(int attempt) {
  if (assigned_ranks_[attempt].disturbed) return;
  assigned_ranks_[attempt].disturbed = true;
  for (const auto& one : agents_) one->peers_are_missed(attempt);
}

// If the ended process is the root's, breaks every link.
void World::process_ended(Agent& agent) {
  if (!agent.is_own()) return;
  trace("the root's process is gone");
  for (const auto& one : agents_) {
    if (!one->is_own() && one->link() != nullptr) one->link()->break_off(Link::to_node);
  }
}

// Before any agent has looked for it. Without the root's node the run would be over.
void World::store_dies(const std::string& id) {
  Agent& store = *agent(id);
  if (store.is_own()) return;
  store_is_to_die_ = false;
  timeline_.in(0ms, [this, &store] {
    trace("{}, with the store, dies", store.host());
    last_fault_ = std::max(last_fault_, timeline_.now());
    store.node_dies();
  });
}

void World::come_again(Agent& before, milliseconds later) {
  timeline_.in(later, [this, place = before.place()] { join(add_agent(place)); });
}

// Its ranks take their agent along, soon after their start, and something starts it again.
void World::flap(Agent& agent) {
  if (agent.is_own() || ++flaps_ > most_flaps) return;
  last_fault_ = std::max(last_fault_, timeline_.now() + 2s);
  timeline_.in(dice_.time(50ms, 2s), [this, &agent] {
    agent.both_die();
    come_again(agent, dice_.time(100ms, 1s));
  });
}

// From now on its user sees a job that stands still, and ends it.
void World::mute(Agent& agent) {
  if (agent.is_own()) return;
  agent.be_mute();
  timeline_.in(mute_limit, [this] {
    if (!over_) root().signal(SIGINT);
  });
}

// The ranks go on later, unless the run is to end the hang.
void World::ranks_hang(const Fault& fault) {
  Agent& one = *agents_[static_cast<std::size_t>(fault.node)];
  if (!one.runs(fault.rank) || one.living_workers() == 0) return;
  const int attempt = one.attempt_of_workers();
  AssignedRanks& ranks = assigned_ranks_[attempt];
  if (ranks.hangs || ranks.started != std::ssize(ranks.given)) return;
  ranks.hangs = true;
  for (const auto& each : agents_) {
    each->ranks_hang(attempt, each.get() == &one ? std::optional(fault.rank) : std::nullopt);
  }
  const run::Settings& settings = scenario_.settings;
  const bool is_ended =
      settings.hang_timeout && settings.on_hang != run::OnHang::report && ranks.given.size() > 1;
  if (!is_ended) timeline_.in(fault.lasts, [this, attempt] { ranks_go_on(attempt); });
}

void World::ranks_go_on(int attempt) {
  AssignedRanks& ranks = assigned_ranks_[attempt];
  ranks.hangs = false;
  ranks.went_on = timeline_.now();
  for (const auto& each : agents_) each->ranks_go_on(attempt);
  if (!std::exchange(ranks.is_late, false) || ranks.disturbed) return;
  for (const auto& each : agents_) each->work_is_done(attempt);
}

void World::act(const run::TellHang&) {
  const run::AttemptCourse& attempt = coordinator_->course().attempts.back();
  trace("root: {}", attempt.hang->verdict.what);
  const AssignedRanks& ranks = assigned_ranks_[attempt.number];
  const bool words_are_on_their_way = ranks.went_on == timeline_.now();
  expect(ranks.hangs || ranks.alarm || words_are_on_their_way, "attempt {} is said to hang",
         attempt.number);
  expect(attempt.hang->alarm == ranks.alarm || !attempt.hang->alarm,
         "attempt {}: the record has another alarm than was given", attempt.number);
}

void World::inject(const Fault& fault) {
  if (over_) return;
  trace("FAULT: {} at n{}", name_of(fault.kind), fault.node);
  apply(fault);
}

void World::apply(const Fault& fault) {
  Agent& one = *agents_[static_cast<std::size_t>(fault.node)];
  const bool is_harmless = fault.kind == FaultKind::echoes || fault.kind >= FaultKind::places_asked;
  const bool of_a_rank =
      fault.kind == FaultKind::rank_exits || fault.kind == FaultKind::rank_killed || is_harmless;
  other_faults_ = other_faults_ || !of_a_rank;
  disturbed_ = disturbed_ || !is_harmless;
  switch (fault.kind) {
    case FaultKind::rank_exits:
      return one.rank_raises(fault.rank, fault.code, std::min(fault.lasts, slowest_exit));
    case FaultKind::rank_killed:
      return one.rank_is_killed(fault.rank, SIGSEGV);
    case FaultKind::workers_do_not_start:
      one.workers_fail_to_start = true;
      return;
    case FaultKind::container_fails:
      one.container_fails = true;
      return;
    case FaultKind::network_refused:
      return one.network_refused();
    case FaultKind::agent_dies:
      return one.agent_dies();
    case FaultKind::keeper_dies:
      return one.keeper_dies();
    case FaultKind::both_die:
      return one.both_die();
    case FaultKind::node_dies:
      return one.node_dies();
    case FaultKind::cut_off:
      if (one.link() == nullptr || one.is_own()) return;
      one.disturb();
      if (fault.to_root) one.link()->cut(Link::to_root);
      if (fault.to_node) one.link()->cut(Link::to_node);
      timeline_.in(fault.lasts, [&one] {
        if (!one.lives()) return;
        one.link()->repair(Link::to_root);
        one.link()->repair(Link::to_node);
      });
      return;
    case FaultKind::stopped:
      return one.stop_for(fault.lasts);
    case FaultKind::signal_to_agent:
      return one.signal(fault.code % 2 == 0 ? SIGTERM : SIGINT, 1 + fault.code % 3);
    case FaultKind::signal_to_all:
      for (const auto& each : agents_) each->signal(SIGTERM, 1 + fault.code % 3);
      return;
    case FaultKind::signal_again:
      one.signal(SIGINT, 1 + fault.code % 2);
      return timeline_.in(1s + fault.lasts / 10, [&one] { one.signal(SIGTERM, 2); });
    case FaultKind::ranks_hang:
      return ranks_hang(fault);
    case FaultKind::malformed:
      return one.send_malformed();
    case FaultKind::store_lost:
      store_is_to_die_ = true;
      return;
    case FaultKind::echoes:
      old_messages_return_ = true;
      for (const auto& each : agents_) {
        if (each->lives() && each->link() != nullptr) each->repeat_old_messages();
      }
      return;
    case FaultKind::joins:
      return join(add_agent());
    case FaultKind::comes_again:
      if (one.is_own()) return;
      if (fault.to_root) one.node_dies();
      if (!fault.to_root) one.both_die();
      return come_again(one, dice_.time(0ms, 15s));
    case FaultKind::flaps:
      flapping_ = one.is_own() ? "" : one.host();
      return;
    case FaultKind::mute:
      return mute(one);
    case FaultKind::no_order:
      late_orders_ = fault.code % 2 == 0 ? 2 : 1;
      return;
    case FaultKind::no_store_found:
      if (fault.code % 2 == 0) one.late_stores = 2;
      if (fault.code % 2 != 0) one.finds_no_store = true;
      return;
    case FaultKind::no_workplace:
      one.has_no_workplace = true;
      return;
    case FaultKind::no_ranks_started:
      one.starts_no_ranks = true;
      return;
    case FaultKind::no_end_reported:
      end_is_not_reported_ = true;
      return;
    case FaultKind::pool_full:
      one.disturb();
      one.pool_is_full_until = timeline_.now() + fault.lasts;
      return;
    case FaultKind::rank_alarmed:
      return alarm(fault);
    case FaultKind::places_asked:
      for (int i = 0; i < 1 + fault.code % 3; ++i) {
        timeline_.in(i * 700ms, [this] { ask_for_places(); });
      }
      return;
    case FaultKind::terminal_paused:
      return pause_terminal(fault.lasts);
    case FaultKind::asked_to_grow:
      return one.ask_to_grow();
    case FaultKind::noticed:
      return one.notice(fault.code % 2 == 0);
  }
}

}  // namespace toprun::simulation
