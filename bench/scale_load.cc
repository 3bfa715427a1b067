// Thousands of agents in one process against a real root over loopback, for bench/scale.py: with
// the real handshake, the secret in TOPRUN_SECRET, the real messages and each agent's own machine,
// but without workers. Prints figures as JSON; times are since the first dial, CPU is the root's.
//
//   scale_load PORT AGENTS JOB PID end     their ranks end with 0 as soon as all have started
//   scale_load PORT AGENTS JOB PID die     one agent is gone then: how long until all are told
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/os/uncaught.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "node/link/dial.h"
#include "run/conductor/node_part.h"

namespace {

using namespace toprun;
using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr int most_probes = 1'000;  // at a time: the agents share this process's open files
constexpr std::size_t other_files = 64;
constexpr auto rest = 2s;  // between the last start and the death
constexpr auto limit = 300s;

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "scale_load: {}\n", what);
  std::exit(1);
}

double seconds_since(SteadyTime then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// CPU that all threads of a process have used.
double cpu_seconds(int pid) {
  double total = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    std::ifstream file(task.path() / "schedstat");
    double running_ns = 0;
    if (file >> running_ns) total += running_ns / 1e9;
  }
  return total;
}

enum Milestone { joined, assigned, started, told, ended, milestones };
constexpr std::array<std::string_view, milestones> milestone_names = {"joined", "assigned",
                                                                      "started", "told", "ended"};

struct Wanted {
  int port = 0;
  int agents = 0;
  std::string job;
  int root_pid = 0;
  bool one_dies = false;
};

class Load;

// A member of the job, as node/agent/member.cc drives one, whose workers are made up.
class Agent {
 public:
  Agent(Load& load, int rank);

  void begin(link::Joined joined);
  void workers_end();
  void die();
  bool is_dead() const { return dead_; }
  const link::Identity& identity() const { return identity_; }
  model::Join join() const;

 private:
  void on(run::PartEvent event);
  void act(const run::Report& report);
  void act(const run::FindStore& find);
  void act(const run::StartWorkers& start);
  void act(const run::StopWorkers&);
  template <class Other>
  void act(const Other&) {}
  asio::awaitable<void> find_store(int attempt, model::StoreAddress store);

  Load& load_;
  const int rank_;
  const link::Identity identity_;
  std::shared_ptr<link::Channel> channel_;
  std::string root_agent_;
  std::optional<run::NodePart> part_;
  bool runs_ = false;  // its workers
  bool told_ = false;
  bool dead_ = false;
  bool over_ = false;
};

class Load {
 public:
  explicit Load(Wanted what)
      : wanted(std::move(what)),
        secret(link::Secret::given(Environment::from(::environ).get("TOPRUN_SECRET").value_or(""))),
        next_(io),
        overdue_(io, limit) {}

  void play() {
    for (int i = 0; i < wanted.agents; ++i)
      agents_.push_back(std::make_unique<Agent>(*this, i + 1));
    overdue_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      die(fmt::format(
          "of {} agents, {} have joined, {} are assigned, {} started, {} told, {} ended",
          wanted.agents, count_[joined], count_[assigned], count_[started], count_[told],
          count_[ended]));
    });
    cpu_at_first_ = cpu_seconds(wanted.root_pid);
    began_ = std::chrono::steady_clock::now();
    dial_next(0);
    io.run();
  }

  void reached(Milestone milestone) {
    const int awaited = wanted.agents - (wanted.one_dies && milestone >= told ? 1 : 0);
    if (++count_[milestone] != awaited) return;
    wall_[milestone] = seconds_since(milestone == told ? died_ : began_);
    cpu_[milestone] = cpu_seconds(wanted.root_pid) - cpu_at_first_;
    if (milestone == started) all_have_started();
    if (milestone == ended) overdue_.cancel();
  }

  void print() const {
    fmt::print("{{");
    for (std::size_t i = 0; i < milestones; ++i) {
      fmt::print("{}\"{}\": {{\"wall_s\": {:.4f}, \"cpu_s\": {:.4f}}}", i == 0 ? "" : ", ",
                 milestone_names[i], wall_[i], cpu_[i]);
    }
    fmt::print("}}\n");
  }

  // Probes of the store's port: so many at a time.
  void when_free(std::function<void()> probe) {
    waiting_.push_back(std::move(probe));
    next_probes();
  }
  void probe_is_done() {
    --probes_;
    next_probes();
  }

  asio::io_context io{1};
  const Wanted wanted;
  const link::Secret secret;

 private:
  // As fast as this process can, but each speaks as soon as it is connected, as on hosts of their
  // own.
  void dial_next(std::size_t index) {
    asio::co_spawn(io, dial(*agents_[index]), end_of_task);
    if (index + 1 < agents_.size()) asio::post(io, [this, index] { dial_next(index + 1); });
  }

  asio::awaitable<void> dial(Agent& agent) {
    const link::MakeJoin make_join =
        [&agent](const link::Channel&) -> asio::awaitable<model::Join> {
      model::Join join = agent.join();
      co_return join;
    };
    const link::RootAddress where{"127.0.0.1", {wanted.port}, false, {}, wanted.agents};
    auto joined =
        co_await link::join_root(pool_, where, agent.identity(), secret, {}, limit, make_join);
    if (!joined) ::die(joined.error().line());
    agent.begin(std::move(*joined));
  }

  void all_have_started() {
    if (!wanted.one_dies) {
      for (const auto& agent : agents_) agent->workers_end();
      return;
    }
    next_.expires_after(rest);
    next_.async_wait([this](const boost::system::error_code&) {
      cpu_at_first_ = cpu_seconds(wanted.root_pid);
      died_ = std::chrono::steady_clock::now();
      agents_[agents_.size() / 2]->die();
    });
  }

  void next_probes() {
    while (probes_ < most_probes && !waiting_.empty()) {
      ++probes_;
      const auto probe = std::move(waiting_.front());
      waiting_.pop_front();
      probe();
    }
  }

  Pool pool_{io};
  std::vector<std::unique_ptr<Agent>> agents_;
  asio::steady_timer next_;
  asio::steady_timer overdue_;
  std::deque<std::function<void()>> waiting_;
  int probes_ = 0;
  SteadyTime began_{};
  SteadyTime died_{};
  double cpu_at_first_ = 0;
  std::array<int, milestones> count_{};
  std::array<double, milestones> wall_{};
  std::array<double, milestones> cpu_{};
};

Agent::Agent(Load& load, int rank)
    : load_(load),
      rank_(rank),
      identity_{std::string(version), link::job_hash(load.wanted.job), link::new_agent_id()} {}

model::Join Agent::join() const {
  model::Join join;
  join.agent = identity_.agent;
  join.host = fmt::format("n{}", rank_);
  join.pid = rank_;
  join.nnodes = load_.wanted.agents + 1;
  join.node_rank = rank_;
  join.addresses = {"127.0.0.1"};
  return join;
}

void Agent::begin(link::Joined joined) {
  run::PartSettings settings;
  settings.host = fmt::format("n{}", rank_);
  settings.root = joined.root.text();
  part_.emplace(settings);
  channel_ = std::move(joined.channel);
  root_agent_ = joined.root_agent;
  channel_->on_message = [this](const nlohmann::json& message) {
    auto heard = model::to_node_in(message);
    if (!heard) ::die(heard.error().line());
    if (*heard) on(run::MessageReceived{**std::move(heard)});
  };
  channel_->on_lost = [this](model::Loss loss) {
    if (!dead_) ::die(fmt::format("n{} lost the root: {}", rank_, loss.words));
  };
  channel_->start();
  load_.reached(::joined);
}

void Agent::on(run::PartEvent event) {
  if (dead_ || over_) return;
  const auto* message = std::get_if<run::MessageReceived>(&event);
  const bool is_stop = message && std::holds_alternative<model::Stop>(message->message);
  if (is_stop && !std::exchange(told_, true)) load_.reached(::told);
  part_->on(std::move(event), std::chrono::steady_clock::now());
  for (auto actions = part_->take(); !actions.empty(); actions = part_->take()) {
    for (const run::PartAction& action : actions) {
      std::visit([this](const auto& what) { act(what); }, action);
    }
  }
  if (!part_->over() || std::exchange(over_, true)) return;
  channel_->on_closed = [this] { load_.reached(ended); };
  channel_->close();
}

void Agent::act(const run::Report& report) {
  channel_->send(model::to_wire(report.message));
}

void Agent::act(const run::FindStore& find) {
  load_.reached(assigned);
  if (find.assignment->store->agent == root_agent_) {  // as node/agent/member.cc does
    return on(run::StoreFound{find.assignment->attempt, "127.0.0.1"});
  }
  load_.when_free([this, assignment = find.assignment] {
    asio::co_spawn(load_.io, find_store(assignment->attempt, *assignment->store), end_of_task);
  });
}

asio::awaitable<void> Agent::find_store(int attempt, model::StoreAddress store) {
  const auto address = co_await link::find_store(load_.io, std::move(store), identity_, {});
  load_.probe_is_done();
  if (!address) ::die(address.error().line());
  on(run::StoreFound{attempt, address->text()});
}

void Agent::act(const run::StartWorkers& start) {
  runs_ = true;
  on(run::WorkersStarted{model::Started{start.assignment->first_rank, ""}});
  load_.reached(started);
}

void Agent::workers_end() {
  model::WorkerExit exit;
  exit.host = fmt::format("n{}", rank_);
  exit.rank = part_->assignment().first_rank;
  exit.signal = told_ ? 15 : 0;
  exit.ours = told_;
  exit.ended = std::chrono::steady_clock::now();
  runs_ = false;
  on(run::WorkerEnded{exit});
  on(run::WorkersGone{});
}

void Agent::act(const run::StopWorkers&) {
  if (runs_) workers_end();
}

void Agent::die() {
  dead_ = true;
  channel_->abandon({});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) ::die("usage: scale_load PORT AGENTS JOB PID end|die");
  const Wanted wanted{std::atoi(argv[1]), std::atoi(argv[2]), argv[3], std::atoi(argv[4]),
                      std::string_view(argv[5]) == "die"};
  const std::size_t needed = static_cast<std::size_t>(wanted.agents + most_probes) + other_files;
  const std::size_t files = raise_open_files();
  if (files < needed) {
    ::die(fmt::format("{} agents need {} open files, {} are allowed (ulimit -Hn)", wanted.agents,
                      needed, files));
  }
  Load load(wanted);
  load.play();
  load.print();
}
