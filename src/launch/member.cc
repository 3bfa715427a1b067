#include "launch/member.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/console.h"
#include "launch/become.h"
#include "launch/ending.h"
#include "rendezvous/dial.h"

namespace toprun::launch {
namespace asio = boost::asio;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

bool ends_the_run(int signal) {
  return signal != SIGUSR1 && signal != SIGUSR2;
}

milliseconds grace_in(const json& message) {
  return milliseconds(message.value("grace_ms", 0));
}

}  // namespace

Member::Member(Session& session, std::shared_ptr<rendezvous::Link> root,
               std::optional<hosts::Address> root_address, std::string root_agent)
    : session_(session),
      root_(std::move(root)),
      root_address_(root_address),
      root_agent_(std::move(root_agent)),
      inbox_(session.io),
      console_(std::make_shared<agent::Terminal>(session.io, agent::ConsoleDescriptors{},
                                                 agent::wants_colours(session.job.environment))),
      patience_(session.io) {
  root_->on_message = [this](json message) { inbox_.push(std::move(message)); };
  root_->on_lost = [this](std::string reason) { inbox_.push(Lost{std::move(reason)}); };
  session_.on_signal = [this](int signal) { inbox_.push(Signalled{signal}); };
}

asio::awaitable<int> Member::run() {
  while (!exit_code_ || alive_) {
    auto event = co_await inbox_.next();
    std::visit([this](const auto& what) { on(what); }, *event);
  }
  session_.on_signal = {};
  root_->on_message = {};
  root_->on_lost = {};
  co_return *exit_code_;
}

void Member::on(const json& message) {
  const std::string type = rendezvous::type_of(message);
  if (type == "assign") {
    if (auto assignment = rendezvous::read<rendezvous::Assignment>(message)) {
      assigned(std::move(*assignment));
    }
  } else if (type == "start") {
    const auto started = start();
    if (!started) return report_failure(started.error());
    root_->send({{"type", becomes_a_rank() ? "becoming" : "started"}});
  } else if (type == "become") {
    become_the_rank();
  } else if (type == "stop") {
    stop(grace_in(message));
  } else if (type == "interrupt") {
    interrupt(message.value("signal", SIGTERM), grace_in(message));
  } else if (type == "finish") {
    if (has_a_terminal_of_its_own()) say_block(message.value("summary", ""));
    exit_code_ = message.value("exit_code", exit_failure);
  }
}

// Agents that somebody started by hand print to separate places; an engine gathers its tasks'
// output, and there the root's last line is enough.
bool Member::has_a_terminal_of_its_own() const {
  return root_address_ && session_.job.place.engine == "manual" &&
         !session_.job.environment.has("SLURM_STEP_ID");
}

void Member::assigned(rendezvous::Assignment assignment) {
  assignment_ = std::move(assignment);
  rendezvous::StoreAddress store = assignment_.store;
  const bool here = store.agent == session_.identity.agent;
  session_.serve_store(here);
  if (!store.exact.empty() || (here && !session_.job.several_processes())) {
    master_addr_ = store.exact.empty() ? "127.0.0.1" : store.exact;
    root_->send({{"type", "ready"}, {"master_addr", master_addr_}});
    return;
  }
  // The way that reached the root is the surest one to a store beside the root.
  if (root_address_ && store.agent == root_agent_) {
    store.addresses.insert(store.addresses.begin(), root_address_->text());
  }
  std::ranges::stable_partition(store.addresses, [](const std::string& address) {
    return address.find(':') == std::string::npos;  // IPv4 first: not every script takes IPv6
  });
  asio::co_spawn(session_.io, locate_store(std::move(store)), asio::detached);
}

asio::awaitable<void> Member::locate_store(rendezvous::StoreAddress store) {
  auto address = co_await rendezvous::find_store(session_.io, std::move(store), session_.identity,
                                                 session_.job.patience);
  inbox_.push(StoreFound{std::move(address)});
}

void Member::on(const StoreFound& found) {
  if (!found.address) return report_failure(found.address.error());
  master_addr_ = found.address->text();
  if (!found.address->is_v4()) {
    say(fmt::format("rank 0's node is reachable by IPv6 only: MASTER_ADDR is {}", master_addr_));
  }
  root_->send({{"type", "ready"}, {"master_addr", master_addr_}});
}

// The root's process has to stay, and so has the store's; every other rank in place takes over the
// process that joined for it.
bool Member::becomes_a_rank() const {
  return session_.job.place.stance == scheduler::Stance::in_place && root_address_ &&
         assignment_.store.agent != session_.identity.agent;
}

Result<void> Member::start() {
  auto plan = plan_work(session_.job, assignment_, master_addr_, session_.route);
  if (!plan) return std::unexpected(plan.error());
  plan_.emplace(std::move(*plan));
  if (becomes_a_rank()) return {};
  plan_->output.console = console_;
  workers_ = std::make_unique<agent::Workers>(
      session_.io, session_.job.inherited, session_.job.place.node_name, plan_->workers,
      agent::Workers::Observer{
          [this](const agent::WorkerExit& exit) { inbox_.push(exit); },
          [this] { inbox_.push(Gone{}); },
      },
      plan_->output);
  auto started = workers_->start();
  alive_ = started.has_value();
  return started;
}

void Member::become_the_rank() {
  const Error error = become(plan_->workers.front(), session_.job.inherited, root_->descriptor());
  say(error.line());
  exit_code_ = error.exit_code;
}

void Member::on(const agent::WorkerExit& exit) {
  json message = exit;
  message["type"] = "exit";
  root_->send(message);
}

void Member::on(const Gone&) {
  alive_ = false;
  patience_.cancel();
  json message = {{"type", "gone"}};
  const store::Server::Activity activity = session_.store->activity();
  const auto now = std::chrono::steady_clock::now();
  const auto age = [now](SteadyTime time) {
    return std::chrono::duration_cast<milliseconds>(now - time).count();
  };
  if (activity.first_connect) message["first_connect_age_ms"] = age(*activity.first_connect);
  if (activity.last_connect) message["last_connect_age_ms"] = age(*activity.last_connect);
  root_->send(message);
}

void Member::on(const Signalled& signalled) {
  if (!ends_the_run(signalled.signal)) {
    if (workers_) workers_->forward(signalled.signal);
    return;
  }
  root_->send({{"type", "signal"}, {"signal", signalled.signal}});
}

void Member::on(const Lost& lost) {
  if (exit_code_) return;
  say(fmt::format("{}: lost the root agent at {}: {}; {}", session_.job.place.node_name,
                  root_address_ ? root_address_->text() : "this host", lost.reason,
                  alive_ ? "stopping this node's workers" : "the job cannot go on"));
  exit_code_ = exit_failure;
  stop(session_.job.grace.stop);
  if (!has_a_terminal_of_its_own()) return;
  Course course;
  course.started = session_.began;
  course.ended = std::chrono::system_clock::now();
  course.verdict = {exit_failure,          "agent_lost", assignment_.store.host,
                    "lost the root agent", {},           {}};
  say_block(summary(session_.job, course));
}

void Member::stop(milliseconds grace) {
  if (!workers_ || !alive_) {
    // Stopped before it was started: there is nothing to wait for.
    if (!exit_code_) root_->send({{"type", "gone"}});
    return;
  }
  patience_.cancel();
  workers_->stop(grace);
}

void Member::interrupt(int signal, milliseconds grace) {
  if (!workers_ || !alive_) return stop(grace);
  workers_->forward(signal);
  patience_.expires_after(grace);
  patience_.async_wait([this](const boost::system::error_code& error) {
    if (!error && workers_) workers_->stop(milliseconds(0));
  });
}

void Member::report_failure(const Error& error) {
  root_->send({{"type", "failed"},
               {"what", error.what},
               {"why", error.why},
               {"fix", error.fix},
               {"exit_code", error.exit_code}});
}

}  // namespace toprun::launch
