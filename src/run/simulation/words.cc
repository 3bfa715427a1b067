#include <signal.h>

#include <algorithm>

#include "run/simulation/world.h"

// What ranks say through their store, what is said to them, and that no word is passed over.
namespace toprun::simulation {

using namespace std::chrono_literals;

namespace {

// A look for a question may be under way, and the one for the alarm follows it.
constexpr milliseconds alarm_limit = 2 * run::look_limit + 100ms;
constexpr int no_such_rank = 1'000'000;  // any client of the store may write any number

}  // namespace

bool World::is_member(const Agent& agent) const {
  const run::Node* const node = coordinator_->roster().find(agent.id());
  return node != nullptr && node->has_seat && node->is_linked();
}

// A rank's watchdog has given up. It may take all others down, or be the only one to think so; and
// a store of an earlier attempt may be read late.
void World::alarm(const Fault& fault) {
  const int attempt = coordinator_->course().attempts.back().number;
  const auto assigned = assigned_ranks_.find(attempt);
  if (assigned == assigned_ranks_.end()) return;
  Agent* const beside_store = agent(assigned->second.store);
  Agent& hears = beside_store != nullptr && fault.code % 5 != 0
                     ? *beside_store
                     : *agents_[static_cast<std::size_t>(fault.node)];
  hang::Alarm alarm;
  if (fault.to_node) alarm.kind = hang::Alarm::Kind::remote_error;
  if (fault.code % 3 != 0) alarm.rank = fault.code % 7 == 0 ? no_such_rank : fault.rank;
  hears.alarm(alarm);
  if (!fault.to_root) return;
  Agent& fails = *agents_[static_cast<std::size_t>(fault.node)];
  timeline_.in(std::min(fault.lasts, 5'000ms),
               [&fails, fault] { fails.rank_raises(fault.rank, fault.code, 0ms); });
}

void Agent::alarm(hang::Alarm alarm) {
  if (lives() && part_ && attempt_ >= 0) on(run::RankAlarmed{attempt_, alarm});
}

// The store's node says so: that is a hang, unless something else has stopped the ranks, or it
// is reported within a few looks.
void World::alarm_is_known(const run::Said& said) {
  const run::AttemptCourse& course = coordinator_->course().attempts.back();
  AssignedRanks& ranks = assigned_ranks_[course.number];
  const Agent* const from = agent(said.agent);
  const bool counts = scenario_.settings.hang_timeout && from != nullptr && is_member(*from) &&
                      coordinator_->stage() == run::Stage::running && !stopped_at_ &&
                      said.message.attempt == course.number && ranks.store == said.agent;
  if (!counts || ranks.alarm) return;
  ranks.alarm = std::get<hang::Alarm>(said.message.what);
  if (ranks.alarm->rank >= std::ssize(ranks.given)) ranks.alarm->rank.reset();
  timeline_.in(alarm_limit, [this, attempt = course.number] {
    const run::AttemptCourse& now = coordinator_->course().attempts.back();
    const bool acts = root().lives() && !root().was_disturbed();
    const bool is_open = acts && now.number == attempt && !now.ended && !stopped_at_;
    expect(!is_open || now.hang, "attempt {}: the root takes no notice of a rank's alarm", attempt);
  });
}

// Why no rank of the attempt can go on, if a member says so.
std::string World::failing_attempt(const run::Event& event) const {
  const auto* const said = std::get_if<run::Said>(&event);
  const Agent* const from = said == nullptr ? nullptr : agent(said->agent);
  const auto* const failed =
      said == nullptr ? nullptr : std::get_if<model::Failed>(&said->message.what);
  const bool counts = failed != nullptr && from != nullptr && is_member(*from) &&
                      coordinator_->stage() == run::Stage::running &&
                      said->message.attempt == coordinator_->course().attempts.back().number;
  return counts ? failed->error.line() : "";
}

// A notice for all is for each member while ranks run, and for nothing else.
void World::expect_notices(const run::Event& event) {
  const auto* const said = std::get_if<run::Said>(&event);
  const Agent* const from = said == nullptr ? nullptr : agent(said->agent);
  notice_is_due_ = from != nullptr && is_member(*from) &&
                   std::holds_alternative<model::Notice>(said->message.what) &&
                   coordinator_->stage() == run::Stage::running;
  notified_.clear();
}

void World::check_notices() {
  if (!std::exchange(notice_is_due_, false)) return;
  for (const auto& one : agents_) {
    expect(notified_.contains(one->id()) == is_member(*one), "{} gets no notice", one->host());
  }
}

Agent::Notices Agent::notices_due(const run::PartEvent& event) const {
  const bool runs = part_->state() == run::PartState::running;
  if (const auto* got = std::get_if<run::GotSignal>(&event)) {
    if (got->meaning != run::SignalMeaning::notice) return {};
    return got->for_all ? Notices{0, 1} : Notices{runs ? 1 : 0, 0};
  }
  const auto* const reported = std::get_if<run::MessageReceived>(&event);
  const bool is_one =
      reported != nullptr && std::holds_alternative<model::Notice>(reported->message);
  return {is_one && runs ? 1 : 0, 0};
}

}  // namespace toprun::simulation
