#include "launch/attempt.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <numeric>
#include <set>

#include "base/console.h"
#include "base/text.h"
#include "hosts/hostlist.h"
#include "launch/preflight.h"
#include "topology/source.h"

namespace toprun::launch {
namespace asio = boost::asio;
using nlohmann::json;
using rendezvous::type_of;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

Error error_in(const json& message, const std::string& host) {
  Error error{message.value("what", "failed"), message.value("why", ""), message.value("fix", ""),
              message.value("exit_code", exit_failure)};
  if (error.line().find(host) == std::string::npos) error.what = host + ": " + error.what;
  return error;
}

// Where nodes sit matters to an order by topology, and is told to the workers.
topology::Request locate_request(const std::vector<rendezvous::Join>& members, const Job& job) {
  topology::Request request;
  request.topology = job.options.topology;
  request.environment = job.environment;
  std::set<std::string> named;
  for (const rendezvous::Join& join : members) {
    if (!named.insert(join.host).second) continue;
    topology::Member member{join.host, join.location.value_or(""),
                            join.location_pattern.value_or("")};
    if (join.cloud) {
      member.cloud =
          topology::CloudEvidence{join.cloud->cloud, join.cloud->text, join.cloud->trouble};
    }
    if (join.nvlink) member.nvlink = topology::Told{join.nvlink->text, join.nvlink->trouble};
    if (join.kube) {
      member.node = join.kube->name;
      if (join.kube->labels) member.labels = *join.kube->labels;
    }
    if (join.ports) member.ports = *join.ports;
    request.members.push_back(std::move(member));
  }
  return request;
}

Result<void> all_located(const topology::Map& map, const topology::Request& request) {
  std::set<std::string_view> located;
  for (const topology::Map::Entry& entry : map.hosts) {
    if (entry.location.path.known()) located.insert(entry.host);
  }
  std::vector<std::string> unknown;
  for (const topology::Member& member : request.members) {
    if (!located.contains(member.name)) unknown.push_back(member.name);
  }
  if (unknown.empty()) return {};
  return fail("--topology-required",
              "no evidence of where these nodes sit: " + hosts::compress_hostlist(unknown),
              "add them to a file and name it with --topology FILE");
}

Result<topology::Map> locate(const std::vector<rendezvous::Join>& members, const Job& job) {
  if (!job.locates()) return topology::Map{};
  const topology::Request request = locate_request(members, job);
  auto map = topology::locate(request);
  if (!map || !job.options.topology_required) return map;
  if (auto all = all_located(*map, request); !all) return std::unexpected(all.error());
  return map;
}

// How long a rank may take to obey Ctrl-C before its user is told how to go on.
constexpr std::chrono::seconds patience_with_ctrl_c{2};

// Ctrl-C was passed on, and ranks have until then to end.
struct Interruption {
  SteadyTime killed_at;
  std::optional<SteadyTime> remind_at;
};

void tell_to_interrupt_again(Interruption& interruption, int running, int all) {
  interruption.remind_at.reset();
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(interruption.killed_at - steady_clock::now());
  if (running <= 0 || left.count() <= 0) return;
  say(fmt::format("{} of {} ranks still run after SIGINT, for {} s at most: Ctrl-C again to kill",
                  running, all, left.count()));
}

std::optional<SteadyTime> earlier(std::optional<SteadyTime> a, std::optional<SteadyTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// In the words of a line that the user is to type.
std::string how_to_grow(const Job& job) {
  if (const auto id = job.environment.non_empty("SLURM_JOB_ID")) return "toprun grow " + *id;
  if (job.options.report) return "toprun grow " + shell_quote(std::array{*job.options.report});
  return fmt::format("kill -URG {}", ::getpid());
}

}  // namespace

Verdict early(std::string kind, const Error& error) {
  Verdict verdict;
  verdict.exit_code = error.exit_code;
  verdict.kind = std::move(kind);
  verdict.message = error.line();
  return verdict;
}

Early early_end(const json& message, const Peer& peer) {
  const std::string type = type_of(message);
  if (type == "failed") return early("launcher", error_in(message, peer.join.host));
  if (type == "lost") {
    Conductor conductor({peer.join.host}, {1}, {});
    const std::string reason = message.value("reason", "");
    if (peer.is_own()) {
      conductor.root_lost(0, reason);
    } else {
      conductor.lost(0, false, reason);
    }
    return conductor.verdict();
  }
  if (type != "signal") return std::nullopt;
  const int signal = message.value("signal", 15);
  Verdict verdict;
  verdict.exit_code = 128 + signal;
  verdict.kind = "interrupted";
  verdict.message = fmt::format("ended by signal {} before the workers were started", signal);
  verdict.told_to_end = true;
  return verdict;
}

Attempt::Attempt(Session& session, Peers& peers, int number, int restarts,
                 std::vector<std::string> before,
                 std::function<void(const AttemptCourse&)> on_phase)
    : session_(session),
      peers_(peers),
      number_(number),
      restarts_(restarts),
      before_(std::move(before)),
      on_phase_(std::move(on_phase)),
      members_(peers.members()) {
  for (std::size_t i = 0; i < members_.size(); ++i) index_[members_[i].agent] = i;
}

asio::awaitable<AttemptCourse> Attempt::run(AttemptCourse course) {
  course_ = std::move(course);
  Early end = place();
  if (!end) {
    on_phase_(course_);
    assign();
    end = co_await all_ready();
  }
  if (end) {
    course_.verdict = std::move(*end);
  } else {
    peers_.tell_members({{"type", "start"}});
    course_.verdict = co_await watch();
  }
  course_.ended = std::chrono::system_clock::now();
  co_return course_;
}

std::optional<milliseconds> Attempt::lived() const {
  if (!course_.phases.spawned || !first_failure_) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(*first_failure_ - *course_.phases.spawned);
}

Early Attempt::place() {
  const auto map = locate(members_, session_.job);
  if (!map) return early("launcher", map.error());
  auto arranged = arrange(members_, session_.job.options, *map, before_);
  if (!arranged) return early("launcher", arranged.error());
  arrangement_ = std::move(*arranged);
  course_.phases.ordered = steady_clock::now();
  for (const std::size_t i : arrangement_.nodes) {
    const rendezvous::Assignment& part = arrangement_.parts[i];
    course_.nodes.push_back(
        {members_[i].host, part.group_rank, part.first_rank, part.local_world_size, part.location});
  }
  course_.order = arrangement_.order;
  for (const std::string& warning : arrangement_.order.warnings) say(warning);
  if (session_.job.options.preflight && number_ == 0) {
    for (const std::string& warning : preflight_warnings(members_)) say(warning);
  }
  if (session_.job.options.verbose > 0) {
    for (const std::string& line : view::order_table(arrangement_.order, course_.nodes)) say(line);
  }
  return std::nullopt;
}

rendezvous::StoreAddress Attempt::store_address() {
  const rendezvous::Join& host = members_[arrangement_.store_host];
  rendezvous::StoreAddress store;
  store.agent = host.agent;
  store.host = host.host;
  store.port = host.store_port;
  const Options& options = session_.job.options;
  const bool is_first = arrangement_.parts[arrangement_.store_host].group_rank == 0;
  const bool is_named = host.node_rank == 0 || session_.job.on_one_host();
  if (options.master_addr.value && is_first && is_named) store.exact = *options.master_addr.value;
  const std::string& seen = peers_.at(host.agent).address;
  if (!seen.empty()) store.addresses.push_back(seen);
  if (seen.empty() && session_.route) store.addresses.push_back(session_.route->text());
  for (const std::string& address : host.addresses) {
    if (std::ranges::find(store.addresses, address) == store.addresses.end()) {
      store.addresses.push_back(address);
    }
  }
  return store;
}

void Attempt::assign() {
  const rendezvous::StoreAddress store = store_address();
  if (session_.job.options.verbose > 0 && session_.job.several_processes()) {
    say(fmt::format("the store is on {}, port {}", store.host, store.port));
  }
  for (std::size_t i = 0; i < arrangement_.parts.size(); ++i) {
    rendezvous::Assignment& part = arrangement_.parts[i];
    part.attempt = number_;
    part.restarts = restarts_;
    part.store = store;
    part.colours = session_.terminal->shows_colours(false);
    part.run_id = session_.job.run_id;
    peers_.tell(members_[i].agent, part);
  }
}

asio::awaitable<Early> Attempt::all_ready() {
  const auto deadline = steady_clock::now() + ready_timeout;
  std::set<std::string> late;
  for (const rendezvous::Join& join : members_) late.insert(join.agent);
  while (!late.empty()) {
    const auto event = co_await peers_.next(deadline);
    if (!event) {
      std::vector<std::string> hosts;
      for (const std::string& agent : late) hosts.push_back(members_[index_.at(agent)].host);
      co_return early("launcher", Error{"no word from " + hosts::compress_hostlist(hosts),
                                        fmt::format("after {}", duration_text(ready_timeout)),
                                        "look at the agents there", exit_failure});
    }
    if (const auto* said = std::get_if<Peers::Said>(&*event)) {
      if (auto end = early_end(said->message, peers_.at(said->agent))) co_return end;
      const bool of_this_attempt = said->message.value("attempt", number_) == number_;
      if (type_of(said->message) == "ready" && of_this_attempt) late.erase(said->agent);
      if (type_of(said->message) == "leave") {
        Conductor conductor({members_[index_.at(said->agent)].host}, {1}, {});
        leavers_[said->agent] = said->message.value("signal", 15);
        conductor.leaving(0, leavers_[said->agent]);
        co_return conductor.verdict();
      }
    } else if (const auto* left = std::get_if<Peers::Left>(&*event)) {
      Conductor conductor({left->join.host}, {1}, {});
      conductor.lost(0, left->silent, left->reason);
      co_return conductor.verdict();
    }
  }
  co_return std::nullopt;
}

asio::awaitable<Verdict> Attempt::watch() {
  std::vector<std::string> hosts;
  std::vector<int> ranks;
  for (const rendezvous::Join& join : members_) {
    hosts.push_back(join.host);
    ranks.push_back(join.slots);
  }
  const int all = std::accumulate(ranks.begin(), ranks.end(), 0);
  const Options& options = session_.job.options;
  const EndedWell ended_well = options.called_torchrun ? EndedWell::failed : EndedWell::done;
  Conductor conductor(std::move(hosts), std::move(ranks), session_.job.grace, ended_well,
                      options.grow);
  count_newcomers(conductor);  // who came while this attempt was prepared
  std::optional<Interruption> interruption;
  while (!conductor.over()) {
    const auto remind_at = interruption ? interruption->remind_at : std::nullopt;
    const auto wake_at = earlier(conductor.wake_at(), remind_at);
    const auto event = co_await peers_.next(wake_at);
    if (!event) {
      const auto now = steady_clock::now();
      if (remind_at && now >= *remind_at) {
        tell_to_interrupt_again(*interruption, all - static_cast<int>(conductor.ended_ranks()),
                                all);
      }
      conductor.passed(now);
    } else if (const auto* said = std::get_if<Peers::Said>(&*event)) {
      heard(conductor, *said);
    } else if (const auto* left = std::get_if<Peers::Left>(&*event)) {
      conductor.lost(index_.at(left->join.agent), left->silent, left->reason);
    } else if (std::holds_alternative<Peers::SparesChanged>(*event)) {
      count_newcomers(conductor);
    }
    for (const Conductor::Order& order : conductor.take_orders()) {
      const bool interrupt = order.kind == Conductor::Order::Kind::interrupt;
      interruption.reset();
      // Of ranks in place only the engine knows which still run.
      const bool is_counted = session_.job.place.stance != scheduler::Stance::in_place;
      if (interrupt && order.signal == SIGINT && is_counted) {
        const auto now = steady_clock::now();
        interruption = {now + order.grace, now + patience_with_ctrl_c};
      }
      peers_.tell_members({{"type", interrupt ? "interrupt" : "stop"},
                           {"signal", order.signal},
                           {"grace_ms", order.grace.count()},
                           {"reason", order.reason}});
    }
  }
  co_return conductor.verdict();
}

void Attempt::heard(Conductor& conductor, const Peers::Said& said) {
  const std::size_t member = index_.at(said.agent);
  const json& message = said.message;
  const std::string type = type_of(message);
  const auto note = [&](const char* name, std::optional<SteadyTime>& phase) {
    if (!message.contains(name)) return;
    phase = steady_clock::now() - milliseconds(message.value(name, 0));
  };
  if (type == "started") {
    one_more_started(conductor, member, message);
  } else if (type == "output") {
    show_output(said);
  } else if (type == "exit") {
    heard_exit(conductor, member, message);
  } else if (type == "gone") {
    note("first_connect_age_ms", course_.phases.first_connect);
    note("last_connect_age_ms", course_.phases.last_connect);
    conductor.gone(member);
  } else if (type == "lost") {
    const std::string reason = message.value("reason", "");
    if (peers_.is_own(said.agent)) {
      conductor.root_lost(member, reason);
    } else {
      conductor.lost(member, false, reason);
    }
  } else if (type == "failed") {
    conductor.failed(member, error_in(message, members_[member].host));
  } else if (type == "signal") {
    conductor.signalled(member, message.value("signal", 15));
  } else if (type == "notice") {
    peers_.tell_members({{"type", "notice"}, {"signal", message.value("signal", SIGUSR1)}});
  } else if (type == "grow") {
    if (message.value("attempt", number_) == number_) {
      asked_to_grow(conductor, peers_.is_own(said.agent));
    }
  } else if (type == "leave") {
    leavers_[said.agent] = message.value("signal", 15);
    conductor.leaving(member, leavers_[said.agent]);
  }
}

void Attempt::count_newcomers(Conductor& conductor) {
  const rendezvous::Gathering& gathering = peers_.gathering();
  const int newcomers = gathering.newcomers();
  const bool all = gathering.present() + newcomers == gathering.size().most;
  conductor.newcomers(newcomers, all, steady_clock::now());
  if (newcomers > 0 && session_.job.options.grow == Grow::on_signal) {
    say(fmt::format("the job can grow by {}: {}", newcomers, how_to_grow(session_.job)));
  }
}

// Slurm tells all agents at once: one of them answers.
void Attempt::asked_to_grow(Conductor& conductor, bool by_our_own) {
  if (conductor.asked_to_grow() || !by_our_own) return;
  if (session_.job.options.grow != Grow::on_signal) {
    say("asked to take in more nodes: that takes --grow on-signal");
  } else if (peers_.gathering().newcomers() == 0) {
    say("asked to take in more nodes: none waits");
  }
}

void Attempt::show_output(const Peers::Said& said) {
  auto output = rendezvous::read<rendezvous::OutputLines>(said.message);
  if (!output) return;
  const std::size_t bytes = output->lines.size();
  const auto taken = [link = peers_.at(said.agent).link, bytes] {
    link->send({{"type", "taken"}, {"bytes", bytes}});
  };
  session_.terminal->show(members_[index_.at(said.agent)].host, output->is_err,
                          std::move(output->lines), taken);
}

void Attempt::heard_exit(Conductor& conductor, std::size_t member, const json& message) {
  auto exit = rendezvous::read<agent::WorkerExit>(message);
  if (!exit) return;
  if (exit->failed() && !exit->ours && !first_failure_) first_failure_ = exit->ended;
  conductor.exited(member, std::move(*exit), steady_clock::now());
}

// What the workers were told is held against the plan: a job whose ranks sit elsewhere would be
// slow, or wrong, without a word.
void Attempt::one_more_started(Conductor& conductor, std::size_t member, const json& message) {
  const int planned = arrangement_.parts[member].first_rank;
  const int first_rank = message.value("first_rank", planned);
  if (first_rank != planned) {
    conductor.failed(member,
                     {fmt::format("{} started at rank {}", members_[member].host, first_rank),
                      fmt::format("the plan says rank {}", planned),
                      "this is a defect of toprun: please report it", exit_failure});
    return;
  }
  const auto place = static_cast<std::size_t>(arrangement_.parts[member].group_rank);
  if (place < course_.nodes.size()) course_.nodes[place].logs = message.value("logs", "");
  if (++started_ < members_.size()) return;
  course_.phases.spawned = steady_clock::now();
  course_.order->verified = true;
  on_phase_(course_);
  if (session_.job.options.verbose > 0 && members_.size() > 1) {
    say(fmt::format("all {} nodes' ranks are where the order puts them", course_.nodes.size()));
  }
}

}  // namespace toprun::launch
