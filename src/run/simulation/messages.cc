#include <signal.h>

#include <set>

#include <nlohmann/json.hpp>

#include "run/simulation/world.h"

// Messages as their other end reads them, with the names and numbers of large jobs.
namespace toprun::simulation {
namespace {

nlohmann::json sent(const nlohmann::json& message) {
  return nlohmann::json::parse(message.dump());
}

constexpr std::size_t credit_bytes = 256;
constexpr milliseconds flush_limit{2'000};  // once they were stopped

}  // namespace

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
