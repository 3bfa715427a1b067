#include <signal.h>

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "run/simulation/world.h"

// What ranks say through their store, what is said to them, and that no word is passed over.
namespace toprun::simulation {
using namespace std::chrono_literals;
namespace {

// A look for a question may be under way, and the one for the alarm follows it.
constexpr milliseconds alarm_limit = 2 * run::look_limit + 100ms;
constexpr int no_such_rank = 1'000'000;  // any client of the store may write any number

nlohmann::json sent(const nlohmann::json& message) {
  return nlohmann::json::parse(message.dump());
}

constexpr std::size_t credit_bytes = 256;
constexpr milliseconds flush_limit{2'000};  // once they were stopped

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

// Messages as their other end reads them, with the names and numbers of large jobs.

// The times of an exit go by the real clock.
model::ToRoot World::as_read(model::ToRoot&& message) {
  auto read = model::to_root_in(sent(model::to_wire(message)));
  const bool is_known = read && *read && (*read)->what.index() == message.what.index();
  expect(is_known, "a message to the root is not read: {}", read ? "" : read.error().line());
  if (!is_known || std::holds_alternative<Shared<model::WorkerExit>>(message.what)) {
    return std::move(message);
  }
  expect((*read)->attempt == message.attempt, "a message is of another attempt");
  return **std::move(read);
}

model::ToNode World::as_read(model::ToNode&& message) {
  auto read = model::to_node_in(sent(model::to_wire(message)));
  const bool is_known = read && *read && (*read)->index() == message.index();
  expect(is_known, "a message to a node is not read: {}", read ? "" : read.error().line());
  return is_known ? **std::move(read) : std::move(message);
}

// What ranks print and the root shows (--gather-output): delivered bytes use up a credit until the
// root has taken them, and no rank counts as gone before.

void Agent::print(std::size_t bytes) {
  if (!world_.scenario().gathers_output || is_own() || output_is_closed_ || !lives()) return;
  printed_bytes_ += bytes;
  deliver_output();
}

void Agent::deliver_output() {
  const std::size_t now = std::min(printed_bytes_, credit_bytes - outstanding_bytes_);
  if (now == 0 || !lives()) return;
  printed_bytes_ -= now;
  outstanding_bytes_ += now;
  world_.to_root(*this, {std::nullopt, model::OutputLines{false, std::string(now, 'x')}});
}

void Agent::act(const run::CreditOutput& credit) {
  world_.expect(credit.bytes <= outstanding_bytes_, "{}: more output is taken than it has sent",
                host_);
  outstanding_bytes_ -= std::min(outstanding_bytes_, credit.bytes);
  deliver_output();
  if (flushing_ && outstanding_bytes_ == 0) flushed();
}

void Agent::act(const run::CloseOutput&) {
  output_is_closed_ = true;
  printed_bytes_ = outstanding_bytes_ = 0;
  if (flushing_) flushed();
}

void Agent::flush() {
  flushing_ = true;
  if (outstanding_bytes_ == 0) return flushed();
  if (stopping_) flush_in_time();
}

void Agent::flush_in_time() {
  if (!flushing_) return;
  world_.timeline().in(flush_limit, [this, attempt = attempt_] {
    process_.deliver([this, attempt] {
      if (flushing_ && attempt == attempt_) flushed();
    });
  });
}

void Agent::flushed() {
  flushing_ = false;
  on(run::WorkersGone{});
}

// What the root may say to a node, and what it may begin with.

void World::check_message(const run::Send& send) {
  const auto& what = send.message;
  const milliseconds grace = scenario_.settings.grace.stop;
  const run::Node* const node = coordinator_->roster().find(send.agent);
  std::optional<milliseconds> ends_within;
  if (const auto* stop = std::get_if<model::Stop>(&what)) {
    expect(stop->grace == grace || stop->grace == milliseconds(0), "a grace of {} ms",
           stop->grace.count());
    ends_within = stop->grace;
  } else if (const auto* interrupt = std::get_if<model::Interrupt>(&what)) {
    expect(interrupt->grace == grace, "a grace of {} ms", interrupt->grace.count());
    expect(interrupt->signal == SIGINT || interrupt->signal == SIGTERM, "no one sent signal {}",
           interrupt->signal);
    ends_within = interrupt->grace;
  } else if (const auto* finish = std::get_if<model::Finish>(&what)) {
    const bool run_is_over = coordinator_->stage() >= run::Stage::telling;
    expect(finish->summary.empty() != run_is_over, "{} gets a wrong end", send.agent);
    expect(!run_is_over || finish->exit_code == coordinator_->course().verdict.exit_code,
           "{} gets an exit code that is not the run's exit code", send.agent);
  } else if (std::holds_alternative<model::Notice>(what)) {
    expect(notice_is_due_, "{} gets a notice that no one gave", send.agent);
    expect(notified_.insert(send.agent).second, "{} gets a notice twice", send.agent);
  } else if (std::holds_alternative<model::WaitAsSpare>(what)) {
    expect(node != nullptr && !node->has_seat, "{} has a seat, but is to wait", send.agent);
  }
  if (!ends_within) return;
  if (!stopped_at_) stopped_at_ = timeline_.now();
  grace_ends_ = timeline_.now() + *ends_within;
}

// As many as are wanted, each once, each with its own place, and not before those that may still
// come have had their time.
void World::check_members(const run::Arrange& request) {
  const run::Settings& settings = scenario_.settings;
  const int members = static_cast<int>(request.seats);
  const int candidates = static_cast<int>(request.members.size());
  expect(request.staying <= request.seats && members <= candidates,
         "{} of {} candidates stay of {}", request.staying, members, candidates);
  expect(members == candidates || members == settings.size.most,
         "{} of {} nodes begin, and others wait", members, candidates);
  expect(members >= settings.size.least && members <= settings.size.most, "{} members begin",
         members);
  std::set<std::string> agents;
  std::set<int> places;
  for (const model::Join& member : request.members) {
    expect(agents.insert(member.agent).second, "{} is a member twice", member.agent);
    expect(coordinator_->roster().find(member.agent)->is_linked(), "{} is a member without a link",
           member.agent);
    expect(!member.node_index || places.insert(*member.node_index).second,
           "place {} is given twice", member.node_index.value_or(0));
  }
  const bool is_first = request.attempt == 0;
  const bool had_time = timeline_.now() - stage_since_ >= settings.last_call;
  expect(!is_first || had_time || members == settings.size.most, "the last call is cut short");
}

}  // namespace toprun::simulation
