#include "launch/member.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include <boost/asio/co_spawn.hpp>

#include "agent/copying_console.h"
#include "agent/error_file.h"
#include "agent/keeper.h"
#include "base/console.h"
#include "base/text.h"
#include "base/uncaught.h"
#include "launch/ending.h"
#include "launch/node_log.h"
#include "launch/notice.h"
#include "rendezvous/dial.h"

namespace toprun::launch {
namespace asio = boost::asio;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

bool asks_to_grow(int signal, const Options& options) {
  const std::vector<int>& ending = options.signals_to_handle.value;
  return signal == grow_signal && std::ranges::find(ending, signal) == ending.end();
}

milliseconds grace_in(const json& message) {
  return milliseconds(message.value("grace_ms", 0));
}

// What the environment says, which is what a program goes by.
std::int64_t rank_told_to(const agent::WorkerPlan& worker) {
  return parse_int(worker.environment.get("RANK").value_or("")).value_or(-1);
}

}  // namespace

Member::Member(Session& session, std::shared_ptr<rendezvous::Link> root,
               std::optional<hosts::Address> root_address, std::string root_agent)
    : session_(session),
      root_(std::move(root)),
      root_address_(root_address),
      root_agent_(std::move(root_agent)),
      inbox_(session.io),
      patience_(session.io) {
  root_->on_message = [this](json message) { inbox_.push(std::move(message)); };
  root_->on_lost = [this](std::string reason) { inbox_.push(Lost{std::move(reason)}); };
  session_.on_signal = [this](int signal, bool for_all) {
    inbox_.push(Signalled{signal, for_all});
  };
  session_.on_orphaned = [this](std::string why, milliseconds grace) {
    inbox_.push(Orphaned{std::move(why), grace});
  };
  session_.on_resize = [this] {
    if (workers_) workers_->resize();
  };
  session_.on_pause = [this](bool paused) {
    if (workers_) workers_->pause(paused);
  };
}

asio::awaitable<int> Member::run() {
  agent::tell_keeper_of_joining();
  if (session_.unfit) report_failure(*session_.unfit);
  while (!exit_code_ || alive_) {
    auto event = co_await inbox_.next();
    std::visit([this](const auto& what) { on(what); }, *event);
  }
  session_.on_signal = {};
  session_.on_orphaned = {};
  session_.on_pause = {};
  session_.on_resize = {};
  root_->on_message = {};
  root_->on_lost = {};
  if (*exit_code_ != 0) pass_on_the_error_file();
  co_return root_speaks_for_all_ ? 0 : *exit_code_;
}

void Member::on(const json& message) {
  const std::string type = rendezvous::type_of(message);
  if (type == "spare") {
    become_spare();
  } else if (type == "assign") {
    if (auto assignment = rendezvous::read<rendezvous::Assignment>(message)) {
      assigned(std::move(*assignment));
    }
  } else if (type == "start") {
    const auto started = start();
    if (!started) return report_failure(started.error());
    json news = {{"type", "started"}};
    if (!plan_.workers.empty()) news["first_rank"] = rank_told_to(plan_.workers.front());
    // Of ranks in place each has a folder of its own.
    const bool in_place = session_.job.place.stance == scheduler::Stance::in_place;
    if (logs_->kept() && !in_place) news["logs"] = logs_->folder();
    report(std::move(news));
  } else if (type == "taken") {
    if (relay_) relay_->sent(message.value("bytes", std::size_t{0}));
  } else if (type == "stop") {
    stop(grace_in(message));
  } else if (type == "interrupt") {
    interrupt(message.value("signal", SIGTERM), grace_in(message));
  } else if (type == "notice") {
    if (workers_) workers_->notify(message.value("signal", SIGUSR1));
  } else if (type == "finish") {
    if (has_a_terminal_of_its_own()) say_block(message.value("summary", ""));
    exit_code_ = message.value("exit_code", exit_failure);
    root_speaks_for_all_ = root_address_ && session_.job.place.started_together;
  }
}

void Member::report(json message) {
  message["attempt"] = assignment_.attempt;
  root_->send(message);
}

void Member::become_spare() {
  spare_ = true;
  if (session_.unfit) {
    say(session_.unfit->line());
    exit_code_ = session_.unfit->exit_code;
    return;
  }
  say(fmt::format("{}: the job at {} has all the nodes it can use now; waiting as a spare",
                  session_.job.place.node_name,
                  root_address_ ? root_address_->text() : "this host"));
}

void Member::choose_console() {
  choose_shown_console();
  const auto path = node_log_path(session_.job.options, session_.job.place.node_name);
  if (!path) return;
  // What cannot be opened is said where launch() opens it for the agent's own lines.
  if (auto file = open_node_log(*path)) {
    console_ =
        std::make_shared<agent::CopyingConsole>(session_.io, console_, *std::move(file), *path);
  }
}

void Member::choose_shown_console() {
  console_ = session_.terminal;
  if (!root_address_ || !session_.job.options.gather_output) return;
  const auto deliver = [root = root_](bool is_err, std::string lines) {
    root->send(rendezvous::OutputLines{is_err, std::move(lines)});
  };
  relay_ = agent::Relay::create(session_.io, deliver, assignment_.colours);
  console_ = relay_;
}

// Agents that somebody started by hand print to separate places; an engine gathers its tasks'
// output, and there the root's last line is enough.
bool Member::has_a_terminal_of_its_own() const {
  return root_address_ && session_.job.place.engine == "manual" &&
         !session_.job.environment.has("SLURM_STEP_ID");
}

void Member::assigned(rendezvous::Assignment assignment) {
  assignment_ = std::move(assignment);
  spare_ = false;
  workers_.reset();
  const bool here = assignment_.store.agent == session_.identity.agent;
  session_.renew_store(
      here, [this, attempt = assignment_.attempt] { inbox_.push(StoreRenewed{attempt}); });
}

void Member::on(const StoreRenewed& renewed) {
  if (renewed.attempt != assignment_.attempt) return;
  rendezvous::StoreAddress store = assignment_.store;
  const bool here = store.agent == session_.identity.agent;
  const bool beside = session_.job.reach() == hosts::Reach::this_host;
  if (!store.exact.empty() || beside || (here && !session_.job.several_processes())) {
    master_addr_ = store.exact.empty() ? hosts::loopback().text() : store.exact;
    return ready();
  }
  // The way that reached the root is the surest one to a store beside the root.
  if (root_address_ && store.agent == root_agent_) {
    store.addresses.insert(store.addresses.begin(), root_address_->text());
  }
  std::ranges::stable_partition(store.addresses, [](const std::string& address) {
    return address.find(':') == std::string::npos;  // IPv4 first: not every script takes IPv6
  });
  asio::co_spawn(session_.io, locate_store(std::move(store)), end_of_task);
}

asio::awaitable<void> Member::locate_store(rendezvous::StoreAddress store) {
  const int attempt = assignment_.attempt;
  auto address = co_await rendezvous::find_store(session_.io, std::move(store), session_.identity,
                                                 session_.job.patience);
  inbox_.push(StoreFound{std::move(address), attempt});
}

void Member::on(const StoreFound& found) {
  if (found.attempt != assignment_.attempt) return;
  if (!found.address) return report_failure(found.address.error());
  master_addr_ = found.address->text();
  if (!found.address->is_v4()) {
    say(fmt::format("rank 0's node is reachable by IPv6 only: MASTER_ADDR is {}", master_addr_));
  }
  ready();
}

// The store is found; ranks can be started once there is a place for them.
void Member::ready() {
  if (!session_.container) return report({{"type", "ready"}});
  asio::co_spawn(session_.io, await_container(), end_of_task);
}

asio::awaitable<void> Member::await_container() {
  const int attempt = assignment_.attempt;
  Result<void> outcome = co_await session_.container->up();
  inbox_.push(ContainerUp{std::move(outcome), attempt});
}

void Member::on(const ContainerUp& container) {
  if (container.attempt != assignment_.attempt) return;
  if (!container.outcome) return report_failure(container.outcome.error());
  report({{"type", "ready"}});
}

Result<void> Member::make_logs() {
  if (logs_) return {};
  const Job& job = session_.job;
  auto logs = session_.container && !job.options.log_dir
                  ? agent::Logs::within(session_.container->folder())
                  : agent::Logs::create(job.options.log_dir, assignment_.run_id, job.environment);
  if (!logs) return std::unexpected(logs.error());
  logs_.emplace(std::move(*logs));
  return {};
}

std::shared_ptr<agent::Children> Member::children() {
  if (session_.container) return session_.container->shim();
  return agent::own_children(session_.io, session_.job.inherited, session_.job.place.node_name);
}

Result<void> Member::start() {
  if (auto made = make_logs(); !made) return made;
  const Workplace place =
      session_.container ? session_.container->workplace() : on_the_host(session_.job);
  auto plan = plan_work(session_.job, place, assignment_, master_addr_, session_.route, *logs_);
  if (!plan) return std::unexpected(plan.error());
  plan_ = std::move(*plan);
  exits_.clear();
  if (!console_) choose_console();
  plan_.output.console = console_;
  workers_ = std::make_unique<agent::Workers>(
      session_.io, children(), session_.job.place.node_name, plan_.workers,
      agent::Workers::Observer{
          [this](const agent::WorkerExit& exit) { inbox_.push(exit); },
          [this] { inbox_.push(Gone{}); },
      },
      plan_.output);
  auto started = workers_->start();
  alive_ = started.has_value();
  if (alive_ && session_.paused) workers_->pause(true);
  return started;
}

void Member::on(const agent::WorkerExit& exit) {
  exits_.push_back(exit);
  json message = exit;
  message["type"] = "exit";
  report(std::move(message));
}

void Member::on(const Gone&) {
  alive_ = false;
  patience_.cancel();
  if (!orphaned_.empty()) return report_orphaned();
  json message = {{"type", "gone"}};
  const store::Server::Activity activity = session_.store->activity();
  const auto now = std::chrono::steady_clock::now();
  const auto age = [now](SteadyTime time) {
    return std::chrono::duration_cast<milliseconds>(now - time).count();
  };
  if (activity.first_connect) message["first_connect_age_ms"] = age(*activity.first_connect);
  if (activity.last_connect) message["last_connect_age_ms"] = age(*activity.last_connect);
  report(std::move(message));
}

void Member::on(const Signalled& signalled) {
  if (asks_to_grow(signalled.signal, session_.job.options)) return report({{"type", "grow"}});
  if (is_notice(signalled.signal, session_.job.options)) {
    if (signalled.for_all) return report({{"type", "notice"}, {"signal", signalled.signal}});
    if (workers_) workers_->notify(signalled.signal);
    return;
  }
  const bool is_root = !root_address_;
  if (spare_) {
    exit_code_ = 128 + signalled.signal;
    return;
  }
  const bool job_goes_on = !is_root && session_.job.is_elastic();
  report({{"type", job_goes_on ? "leave" : "signal"}, {"signal", signalled.signal}});
}

// Without its keeper, or its launcher over ssh, an agent may not go on: nobody would clear up after
// it.
void Member::on(const Orphaned& orphaned) {
  if (!orphaned_.empty()) return;
  orphaned_ = orphaned.why;
  exit_code_ = exit_failure;
  say(fmt::format("{}: {}, so its ranks are killed too", session_.job.place.node_name, orphaned_));
  if (alive_) {
    stop(orphaned.grace);
  } else {
    report_orphaned();
  }
}

void Member::report_orphaned() {
  report({{"type", "lost"}, {"reason", orphaned_}});
}

void Member::on(const Lost& lost) {
  if (exit_code_) return;
  if (session_.unfit) say(session_.unfit->line());
  say(fmt::format("{}: lost the root agent at {}: {}; {}", session_.job.place.node_name,
                  root_address_ ? root_address_->text() : "this host", lost.reason,
                  alive_ ? "stopping this node's workers" : "the job cannot go on"));
  exit_code_ = exit_failure;
  if (relay_) relay_->close();
  // Cut off from a root that may have started this node's ranks elsewhere by now.
  const bool cut_off = lost.reason.starts_with("no word");
  if (cut_off) agent::tell_keeper_of_silence();
  stop(cut_off ? std::min(session_.job.grace.stop, fence_grace) : session_.job.grace.stop);
  if (!has_a_terminal_of_its_own()) return;
  say_block(summary(session_.job, course_without_root()));
}

// What one node knows of a run.
Course Member::course_without_root() const {
  AttemptCourse attempt;
  attempt.number = assignment_.attempt;
  attempt.started = session_.began;
  attempt.ended = std::chrono::system_clock::now();
  attempt.verdict.exit_code = exit_failure;
  attempt.verdict.kind = "agent_lost";
  attempt.verdict.node = root_address_ ? root_address_->text() : "";
  attempt.verdict.message = "lost the root agent";
  if (workers_) {
    attempt.nodes.push_back({session_.job.place.node_name, assignment_.group_rank,
                             assignment_.first_rank, assignment_.nproc, assignment_.location});
  }
  Course course;
  course.started = attempt.started;
  course.ended = *attempt.ended;
  course.restarts = assignment_.restarts;
  course.verdict = attempt.verdict;
  course.attempts.push_back(std::move(attempt));
  return course;
}

void Member::stop(milliseconds grace) {
  if (!workers_ || !alive_) {
    // Stopped before it was started: there is nothing to wait for.
    if (!exit_code_) report({{"type", "gone"}});
    return;
  }
  patience_.cancel();
  workers_->stop(grace);
}

void Member::interrupt(int signal, milliseconds grace) {
  if (!workers_ || !alive_) return stop(grace);
  workers_->forward(signal);
  workers_->pause(false);  // a stopped process could not act on it
  patience_.expires_after(grace);
  patience_.async_wait([this](const boost::system::error_code& error) {
    if (!error && workers_) workers_->stop(milliseconds(0));
  });
}

// As torchrun: whoever started this launcher, another one perhaps, may have named a file for it.
void Member::pass_on_the_error_file() const {
  const auto target = session_.job.environment.non_empty("TORCHELASTIC_ERROR_FILE");
  const agent::WorkerExit* const cause = agent::root_cause(exits_);
  if (!target || cause == nullptr || !cause->error_file) return;
  const auto worker =
      std::ranges::find(plan_.workers, cause->local_rank, &agent::WorkerPlan::local_rank);
  const auto copied = agent::copy_error_file(worker->error_file, *cause, *target);
  if (!copied) say(copied.error().line());
}

void Member::report_failure(const Error& error) {
  report({{"type", "failed"},
          {"what", error.what},
          {"why", error.why},
          {"fix", error.fix},
          {"exit_code", error.exit_code}});
}

}  // namespace toprun::launch
