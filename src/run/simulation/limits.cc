#include <signal.h>

#include <algorithm>

#include "run/simulation/world.h"

// Promises about time, output and memory: what the root waits for has an end, what asks gets an
// answer, what it keeps has a bound.
namespace toprun::simulation {
using namespace std::chrono_literals;
namespace {

constexpr milliseconds a_users_pace{1'000};
constexpr milliseconds fence{1'000};
constexpr milliseconds slack{1};
constexpr milliseconds to_start{100};  // ranks that are being started

// The root's process may be stopped meanwhile.
constexpr milliseconds longest_stop{10'000};
constexpr milliseconds late_slack{100};
constexpr milliseconds short_life{10'000};
constexpr milliseconds first_pause{1'000};
constexpr milliseconds newcomers_come_together{1'000};
constexpr milliseconds end_limit{60'000};
constexpr milliseconds winding_up{20'000};
constexpr std::size_t attempts_with_nodes = 8;
constexpr std::size_t most_attempts = 1'000;

bool is_loss(const run::Verdict& verdict) {
  return verdict.kind == model::CauseKind::node_lost ||
         verdict.kind == model::CauseKind::agent_lost;
}

}  // namespace

// How long the ranks' graces are, and what may shorten them.

// Judged here again, and not by the program's own rule.
void Agent::heard(const run::GotSignal& got) {
  if (got.meaning != run::SignalMeaning::end) return;
  const SteadyTime now = world_.timeline().now();
  world_.trace("{} gets signal {}", host_, got.signal);
  if (is_own()) world_.root_is_ordered_to_end();
  if (signalled_ && now - *signalled_ < a_users_pace) return;
  if (std::exchange(signalled_, now)) is_impatient_ = true;
  const bool leaves = world_.scenario().settings.elastic && !is_own();
  if (is_impatient_ && !leaves) world_.all_may_be_killed();
}

// Ranks get the whole grace, unless this node's user, or that of the job, has waited and does not
// want to any more; or nothing would clean up after the agent; or the root may have restarted them
// elsewhere.
void Agent::check_grace(milliseconds grace) {
  const SteadyTime now = world_.timeline().now();
  if (!ordered_to_end_) ordered_to_end_ = now;
  const SteadyTime ends = *ordered_to_end_ + world_.scenario().settings.grace.stop;
  const bool may = is_impatient_ || may_kill_at_once_ || world_.may_kill();
  world_.expect(may || now + grace + slack >= ends || living_workers() == 0,
                "{}: ranks are killed {} ms before their grace is over", host_,
                std::chrono::duration_cast<milliseconds>(ends - now - grace).count());
}

// The root may start them elsewhere as soon as it has noticed the silence.
void Agent::check_fence() {
  if (is_dismissed_) return;
  may_kill_at_once_ = true;
  world_.timeline().in(fence + to_start, [this] {
    const bool acts = lives() && !process_.is_stopped();
    world_.expect(!acts || living_workers() == 0, "{} is cut off, but its ranks live", host_);
  });
}

// What an event may change of the promises; returns the bytes of output that must be shown.
std::size_t World::notice(const run::Event& event) {
  const auto* said = std::get_if<run::Said>(&event);
  if (said == nullptr) return 0;
  const auto& what = said->message.what;
  if (std::holds_alternative<Shared<model::WorkerExit>>(what)) {
    some_rank_has_ended_ = true;
    failure_is_known(said->agent, said->message);
  }
  if (std::holds_alternative<hang::Alarm>(what)) alarm_is_known(*said);
  const Agent* const from = agent(said->agent);
  const bool is_a_leaver = scenario_.settings.elastic && (from == nullptr || !from->is_own());
  const bool may_shorten = !is_a_leaver && stopped_at_ && timeline_.now() - *stopped_at_ >= 1s;
  if (may_shorten && std::holds_alternative<model::Signalled>(what)) may_kill_ = true;
  const run::Node* const node = coordinator_->roster().find(said->agent);
  is_asked_to_grow_ = node != nullptr && node->has_seat &&
                      said->message.attempt == coordinator_->course().attempts.back().number &&
                      std::holds_alternative<model::AskedToGrow>(what);
  const auto* output = std::get_if<model::OutputLines>(&what);
  return output == nullptr || closing_.contains(said->agent) ? 0 : output->lines.size();
}

std::optional<milliseconds> World::limit_of_stage() const {
  const run::Settings& settings = scenario_.settings;
  switch (stage_) {
    case run::Stage::gathering:
      return settings.join_timeout + settings.last_call;
    case run::Stage::arranging:
      return settings.arrange_limit;
    case run::Stage::preparing:
      return settings.prepare_limit;
    case run::Stage::running: {
      if (!stopped_at_) return std::nullopt;  // ranks may work as long as they like
      const SteadyTime ends = grace_ends_ + settings.silence_limit + winding_up;
      return std::chrono::duration_cast<milliseconds>(ends - stage_since_);
    }
    case run::Stage::pausing:
      return 30s;
    case run::Stage::asking:
      return 5s;
    case run::Stage::telling:
      return end_limit;
    case run::Stage::parting:
      return 12s;
    case run::Stage::over:
      break;
  }
  return std::nullopt;
}

// Nodes that come late begin a gathering's last call again if others leave meanwhile: it has no
// total limit while enough are there.
void World::check_stage() {
  const SteadyTime now = timeline_.now();
  const auto limit = limit_of_stage();
  const bool is_late = limit && now - stage_since_ > *limit + longest_stop + late_slack;
  expect(!is_late || stage_ == run::Stage::gathering, "the stage {} lasts too long",
         run::name_of(stage_));
  for (const auto& [question, asked] : unanswered_) {
    expect(over_ || now - asked <= scenario_.settings.silence_limit + 10s + longest_stop,
           "question {} is not answered", question);
  }
  const int attempt = coordinator_->course().attempts.back().number;
  if (coordinator_->stage() == stage_ && attempt == checked_stage_of_) return;
  stage_ = coordinator_->stage();
  checked_stage_of_ = attempt;
  stage_since_ = now;
  if (stage_ == run::Stage::running) return;
  stopped_at_.reset();
  some_rank_has_ended_ = false;
  can_grow_since_.reset();
}

// Newcomers are taken in as --grow says.
void World::check_growth() {
  const SteadyTime now = timeline_.now();
  const bool can_grow = stage_ == run::Stage::running && !stopped_at_ && !some_rank_has_ended_ &&
                        coordinator_->roster().newcomers() > 0;
  if (!can_grow) return can_grow_since_.reset();
  if (!can_grow_since_) can_grow_since_ = now;
  const bool is_due = now - *can_grow_since_ > newcomers_come_together + longest_stop + late_slack;
  expect(scenario_.settings.grow != run::Grow::now || !is_due, "newcomers are not taken in");
  const bool is_asked = scenario_.settings.grow == run::Grow::on_signal && is_asked_to_grow_;
  expect(!is_asked, "the job was asked to grow, and does not");
}

// No node that does what the root says counts as lost because it is slow.
void World::check_loss(const std::string& said) {
  if (!said.contains(" counts as lost: ")) return;
  const bool is_deserved = std::ranges::any_of(agents_, [&](const auto& one) {
    return said.starts_with(one->host() + " ") && (one->is_mute() || one->was_disturbed());
  });
  expect(is_deserved, "it is said: {}", said);
}

void World::check_record() {
  const auto& attempts = coordinator_->course().attempts;
  expect(attempts.size() <= most_attempts, "the record holds too many attempts");
  if (attempts.size() <= attempts_with_nodes) return;
  expect((attempts.end() - attempts_with_nodes - 1)->nodes.empty(),
         "the record holds the nodes of an old attempt");
}

// After two short lives in a row the next one begins after a pause, but for the first loss of a
// node.
void World::check_pause(const run::AttemptCourse& attempt) {
  const bool must_pause = last_ended_ && short_lives_ >= 2 && !ended_by_a_first_loss_;
  const auto paused = last_ended_ ? attempt.started - *last_ended_ : WallTime::duration{};
  expect(!must_pause || paused >= first_pause, "attempt {} begins at once after {} short ones",
         attempt.number, short_lives_);
  const auto lived = attempt.phases.spawned
                         ? *attempt.ended - WallTime(attempt.phases.spawned->time_since_epoch())
                         : WallTime::duration{};
  short_lives_ = lived < short_life ? short_lives_ + 1 : 0;
  if (short_lives_ == 0) lost_in_short_lives_.clear();
  ended_by_a_first_loss_ = is_loss(attempt.verdict) && short_lives_ > 0 &&
                           lost_in_short_lives_.insert(attempt.verdict.node).second;
  last_ended_ = attempt.ended;
}

void World::ask_for_places() {
  if (!root().lives() || over_) return;
  root().process().deliver([this] {
    const int question = questions_++;
    unanswered_[question] = timeline_.now();
    happened(run::PlacesAsked{question});
    const milliseconds limit = scenario_.settings.silence_limit + 10s + longest_stop + late_slack;
    timeline_.in(limit, [this, question] {
      const bool answers = root().lives() && !over_ && coordinator_->stage() < run::Stage::over;
      expect(!answers || !unanswered_.contains(question), "question {} is not answered", question);
    });
  });
}

void World::act(const run::TellPlaces& tell) {
  for (const int question : tell.questions) {
    expect(unanswered_.erase(question) == 1, "question {} is answered twice", question);
  }
  for (const int rank : tell.places.unseen) {
    const AssignedRanks& ranks = assigned_ranks_[tell.places.attempt];
    expect(rank >= 0 && rank < std::ssize(ranks.given), "rank {} of none is not seen", rank);
  }
}

void World::act(const run::Show& show) {
  shown_bytes_ += show.output.lines.size();
  if (!paused_until_ || timeline_.now() >= *paused_until_) {
    return take_output(show.agent, show.output.lines.size());
  }
  untaken_.emplace_back(show.agent, show.output.lines.size());
}

void World::take_output(const std::string& from, std::size_t bytes) {
  Agent* const to = agent(from);
  if (to == nullptr || to->link() == nullptr) return;
  to->link()->send(Link::to_node, [to, bytes] { to->reported(model::Taken{bytes}); });
}

void World::pause_terminal(milliseconds time) {
  paused_until_ = timeline_.now() + time;
  timeline_.in(time, [this] {
    root().process().deliver([this] {
      if (timeline_.now() < *paused_until_) return;
      for (const auto& [from, bytes] : std::exchange(untaken_, {})) take_output(from, bytes);
    });
  });
}

}  // namespace toprun::simulation
