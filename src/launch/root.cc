#include "launch/root.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <boost/asio/ip/tcp.hpp>

#include "base/console.h"
#include "base/text.h"
#include "hosts/hostlist.h"
#include "rendezvous/dial.h"
#include "scheduler/engine.h"
#include "scheduler/exit_codes.h"

namespace toprun::launch {
namespace asio = boost::asio;
using rendezvous::type_of;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

std::string text_of(const asio::ip::tcp::endpoint& endpoint) {
  sockaddr_storage storage{};
  std::memcpy(&storage, endpoint.data(), endpoint.size());
  return hosts::Address::from(storage).text();
}

bool has_ranks_in_place(const Job& job) {
  return job.place.stance == scheduler::Stance::in_place;
}

rendezvous::Size size_of(const Job& job) {
  if (has_ranks_in_place(job)) return {job.tasks, job.tasks};
  const bool repairable = job.is_elastic() || (job.nnodes > 1 && job.options.max_restarts > 0);
  return {job.min_nodes, job.nnodes, repairable, node_rank_is_a_wish(job.options)};
}

// Whether an engine may have ended the run. Its SIGTERM may have killed all ranks before the agents
// have read of it.
bool may_be_the_engines(const Verdict& verdict) {
  if (verdict.exit_code == 0) return verdict.told_to_end;
  return verdict.kind == "interrupted" || (verdict.exit && verdict.exit->signal == SIGTERM);
}

}  // namespace

Root::Root(Session& session, rendezvous::Secret secret)
    : session_(session),
      peers_(session.io, size_of(session.job)),
      restarts_(peers_.gathering().size(), session.job.options.max_restarts),
      presence_(session.io, session.job) {
  course_.started = std::chrono::system_clock::now();
  session_.door.become_root(
      std::move(secret),
      {[this](const rendezvous::Join& join) {
         auto refused = peers_.gathering().admit(join);
         if (refused) say(fmt::format("refused an agent on {}: {}", join.host, refused->text));
         return refused;
       },
       [this](const rendezvous::Join& join, std::shared_ptr<rendezvous::Channel> channel) {
         if (!session_.route) {
           session_.route = hosts::Address::parse(text_of(channel->local()));
         }
         std::string address = text_of(channel->remote());
         peers_.add(join, std::move(channel), std::move(address));
       }});
}

std::shared_ptr<rendezvous::Link> Root::admit_own(const rendezvous::Join& join) {
  auto [mine, its] = rendezvous::local_link(session_.io);
  peers_.gathering().admit(join);
  peers_.add(join, mine, "");
  return its;
}

asio::awaitable<Course> Root::run() {
  for (bool again = true; again;) {
    const Restarts::Next next = co_await one_attempt();
    const Verdict& verdict = course_.attempts.back().verdict;
    if (next.again) {
      tell_the_failure(session_.job, course_.attempts.back());
      keep_the_report(session_.job, course_);
    }
    if (!next.words.empty()) say(next.words);
    again = next.again;
    if (again && next.pause > milliseconds(0)) {
      if (const auto end = co_await pause(next.pause)) {
        course_.attempts.back().verdict = *end;
        again = false;
      }
    }
    course_.verdict = verdict;
  }
  if (may_be_the_engines(course_.verdict)) ask_why();
  course_.ended = std::chrono::system_clock::now();
  course_.restarts = restarts_.count();
  co_return course_;
}

asio::awaitable<void> Root::farewell() {
  const nlohmann::json words = {{"type", "finish"},
                                {"exit_code", course_.verdict.exit_code},
                                {"summary", summary(session_.job, course_)}};
  int to_come = others_may_still_come() ? peers_.size().most - peers_.gathering().present() : 0;
  peers_.dismiss_all(words);
  const auto deadline = steady_clock::now() + latecomers_limit;
  while (to_come > 0) {
    const auto event = co_await peers_.next(deadline);
    if (!event) break;
    const auto* came = std::get_if<Peers::Came>(&*event);
    if (came == nullptr) continue;
    peers_.dismiss(came->agent, words);
    --to_come;
  }
  co_await peers_.all_gone(steady_clock::now() + farewell_timeout);
}

// A failure ended the run before all had come: they would wait for a root that there is no more.
bool Root::others_may_still_come() const {
  const AttemptCourse& last = course_.attempts.back();
  return session_.job.others_come() && !last.phases.joined && !course_.verdict.told_to_end &&
         course_.verdict.kind != "join_timeout";
}

// An engine sends the same signal for another job's sake, for a time limit, and where a user ends
// the job.
void Root::ask_why() {
  const auto stop = scheduler::why_stopped(session_.job.environment);
  if (!stop) return;
  const bool preempted = stop->reason == scheduler::Stop::Reason::preemption;
  // Ranks that have saved and left with 0 are no reason to leave a preempted job unfinished.
  if (course_.verdict.exit_code == 0 && !preempted) return;
  course_.verdict.kind = preempted ? "preempted" : "time_limit";
  course_.verdict.exit_code = preempted ? exit_preempted : scheduler::exit_time_limit;
  course_.verdict.message = stop->words;
  course_.verdict.exit.reset();
  course_.verdict.node.clear();
  course_.attempts.back().verdict = course_.verdict;
}

void Root::note_progress(const AttemptCourse& running) const {
  if (!session_.job.options.report) return;
  Course so_far = course_;
  so_far.attempts.push_back(running);
  keep_the_report(session_.job, so_far);
}

asio::awaitable<Restarts::Next> Root::one_attempt() {
  AttemptCourse course;
  course.number = static_cast<int>(course_.attempts.size());
  course.started = std::chrono::system_clock::now();
  course.phases.began = steady_clock::now();
  note_progress(course);
  if (auto end = co_await gather(course)) {
    course.verdict = std::move(*end);
    course.ended = std::chrono::system_clock::now();
    course_.attempts.push_back(std::move(course));
    co_return Restarts::Next{};
  }
  const std::size_t members = peers_.members().size();
  Attempt attempt(session_, peers_, course.number, restarts_.count(), last_order(),
                  [this](const AttemptCourse& running) { note_progress(running); });
  course = co_await attempt.run(std::move(course));
  const Restarts::Next next = restarts_.after(course.verdict, attempt.lived());
  if (next.again) {
    for (const auto& [agent, signal] : attempt.leavers()) dismiss(agent, 128 + signal);
  }
  same_members_ = peers_.members().size() == members;
  course_.attempts.push_back(std::move(course));
  co_return next;
}

std::vector<std::string> Root::last_order() const {
  std::vector<std::string> names;
  if (course_.attempts.empty()) return names;
  for (const view::NodeRecord& node : course_.attempts.back().nodes) names.push_back(node.name);
  return names;
}

// Until all are there, or enough and the last call is over. After an attempt that lost nobody there
// is nobody to wait for.
asio::awaitable<Early> Root::gather(AttemptCourse& course) {
  peers_.gathering().open();
  const auto deadline = course.phases.began + session_.job.join_timeout;
  auto next_word = steady_clock::now() + rendezvous::report_waiting_every;
  last_call_.reset();
  while (!everybody_is_there()) {
    const bool enough = peers_.gathering().enough() && peers_.all_members_are_there();
    if (enough && same_members_) break;
    if (!enough) last_call_.reset();
    if (enough && !last_call_) last_call_ = steady_clock::now() + session_.job.last_call;
    const auto limit = std::min(last_call_.value_or(deadline), next_word);
    const auto look = steady_clock::now() + between_presence_looks;
    const auto event = co_await peers_.next(std::min(limit, look));
    const auto now = steady_clock::now();
    if (event) {
      if (auto end = heard_between_attempts(*event)) co_return end;
    } else if (auto end = ended_before_joining()) {
      co_return end;
    } else if (last_call_ && now >= *last_call_) {
      break;
    } else if (!last_call_ && now >= deadline) {
      co_return nobody_else_came();
    } else if (now >= next_word) {
      say_who_is_missing();
      next_word = now + rendezvous::report_waiting_every;
    }
  }
  peers_.gathering().close();
  course.phases.joined = steady_clock::now();
  co_return std::nullopt;
}

asio::awaitable<Early> Root::pause(milliseconds time) {
  const auto end = steady_clock::now() + time;
  while (const auto event = co_await peers_.next(end)) {
    if (auto early = heard_between_attempts(*event)) co_return early;
  }
  co_return std::nullopt;
}

Early Root::heard_between_attempts(const Peers::Event& event) {
  if (const auto* said = std::get_if<Peers::Said>(&event)) {
    const std::string type = type_of(said->message);
    if (type == "leave") {
      dismiss(said->agent, 128 + said->message.value("signal", 15));
    } else if (type == "failed" && session_.job.is_elastic() && !peers_.is_own(said->agent)) {
      const Verdict verdict = *early_end(said->message, peers_.at(said->agent));
      say(verdict.message + "; the job goes on without it");
      dismiss(said->agent, verdict.exit_code);
    } else if (type != "lost" || peers_.is_own(said->agent)) {
      return early_end(said->message, peers_.at(said->agent));
    }
  } else if (const auto* left = std::get_if<Peers::Left>(&event)) {
    same_members_ = false;
    if (left->properly) return std::nullopt;
    say(fmt::format("{} left before the job was complete: {}", left->join.host, left->reason));
  }
  return std::nullopt;
}

// One agent goes, the job stays.
void Root::dismiss(const std::string& agent, int exit_code) {
  same_members_ = false;
  peers_.dismiss(agent, {{"type", "finish"}, {"exit_code", exit_code}});
  peers_.gathering().forget(agent);
}

std::vector<std::string> Root::missing() const {
  std::vector<std::string> names;
  for (const scheduler::Node& node : session_.job.place.nodes) names.push_back(node.name);
  return peers_.missing(names);
}

// Of an elastic job it is only one node less.
Early Root::ended_before_joining() {
  if (session_.job.is_elastic()) return std::nullopt;
  presence_.look_if_due();
  for (const std::string& node : missing()) {
    if (!presence_.has_ended(node)) continue;
    Verdict verdict = early(
        "agent_lost", Error{fmt::format("{} has ended before it joined", node),
                            "the engine has no process of the run there",
                            "look above for what it said; is toprun there too?", exit_failure});
    verdict.node = node;
    return verdict;
  }
  return std::nullopt;
}

Verdict Root::nobody_else_came() const {
  const int least = peers_.size().least;
  const int most = peers_.size().most;
  const std::vector<std::string> absent = missing();
  Verdict verdict = early(
      "join_timeout",
      Error{fmt::format("{} of {} joined within {}", peers_.members().size(),
                        least == most ? fmt::to_string(most) : fmt::format("{}:{}", least, most),
                        duration_text(session_.job.join_timeout)),
            absent.empty() ? "" : "missing: " + hosts::compress_hostlist(absent),
            "start the missing ones, or raise join_timeout in --rdzv-conf", exit_failure});
  return verdict;
}

void Root::say_who_is_missing() const {
  const std::vector<std::string> absent = missing();
  const int most = peers_.size().most;
  say(fmt::format("waiting for {} of {} {}{}", most - static_cast<int>(peers_.members().size()),
                  most, has_ranks_in_place(session_.job) ? "ranks" : "nodes",
                  absent.empty() ? "" : ": " + hosts::compress_hostlist(absent)));
}

}  // namespace toprun::launch
