#include "launch/root.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include <boost/asio/ip/tcp.hpp>

#include "base/console.h"
#include "base/text.h"
#include "hosts/hostlist.h"
#include "launch/preflight.h"
#include "rendezvous/dial.h"
#include "topology/source.h"

namespace toprun::launch {
namespace asio = boost::asio;
using nlohmann::json;
using rendezvous::type_of;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

Verdict early(std::string kind, const Error& error) {
  Verdict verdict;
  verdict.exit_code = error.exit_code;
  verdict.kind = std::move(kind);
  verdict.message = error.line();
  return verdict;
}

Error error_in(const json& message) {
  return {message.value("what", "failed"), message.value("why", ""), message.value("fix", ""),
          message.value("exit_code", exit_failure)};
}

std::string text_of(const asio::ip::tcp::endpoint& endpoint) {
  sockaddr_storage storage{};
  std::memcpy(&storage, endpoint.data(), endpoint.size());
  return hosts::Address::from(storage).text();
}

// Where nodes sit matters to an order by topology, and is told to the workers.
topology::Request locate_request(const std::vector<rendezvous::Join>& members, const Job& job) {
  topology::Request request;
  request.topology = job.options.topology;
  request.environment = job.environment;
  std::set<std::string> named;
  for (const rendezvous::Join& join : members) {
    if (!named.insert(join.host).second) continue;
    request.members.push_back(
        {join.host, join.location.value_or(""), join.location_pattern.value_or("")});
  }
  return request;
}

Result<void> all_located(const topology::Map& map, const topology::Request& request) {
  std::set<std::string_view> located;
  for (const topology::Map::Entry& entry : map.hosts) {
    if (topology::known(entry.location.path)) located.insert(entry.host);
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

}  // namespace

Root::Root(Session& session, rendezvous::Secret secret)
    : session_(session),
      inbox_(session.io),
      gathering_(session.job.place.stance == scheduler::Stance::in_place ? session.job.tasks
                                                                         : session.job.nnodes) {
  record_.started = std::chrono::system_clock::now();
  record_.phases.began = steady_clock::now();
  session_.door.become_root(
      std::move(secret),
      {[this](const rendezvous::Join& join) {
         auto refused = gathering_.admit(join);
         if (refused) say(fmt::format("refused an agent on {}: {}", join.host, refused->text));
         return refused;
       },
       [this](const rendezvous::Join& join, std::shared_ptr<rendezvous::Channel> channel) {
         if (!session_.route) {
           session_.route = hosts::Address::parse(text_of(channel->local()));
         }
         std::string address = text_of(channel->remote());
         add(join, std::move(channel), std::move(address));
       }});
}

std::shared_ptr<rendezvous::Link> Root::admit_own(const rendezvous::Join& join) {
  auto [mine, its] = rendezvous::local_link(session_.io);
  gathering_.admit(join);
  add(join, mine, "");
  return its;
}

void Root::add(const rendezvous::Join& join, std::shared_ptr<rendezvous::Link> link,
               std::string address) {
  const std::string agent = join.agent;
  link->on_message = [this, agent](json message) { inbox_.push(Said{agent, std::move(message)}); };
  link->on_lost = [this, agent](std::string reason) {
    inbox_.push(Left{agent, std::move(reason)});
  };
  link->on_closed = [this, agent] { inbox_.push(Left{agent, "", true}); };
  peers_[agent] = Peer{std::move(link), std::move(address)};
  inbox_.push(Came{});
}

asio::awaitable<Course> Root::run() {
  auto end = co_await gather();
  if (!end) end = place();
  if (!end) {
    assign();
    end = co_await all_ready();
  }
  if (end) {
    record_.verdict = std::move(*end);
  } else {
    tell_all({{"type", "start"}});
    record_.verdict = co_await watch();
  }
  record_.ended = std::chrono::system_clock::now();
  co_await take_leave();
  co_return record_;
}

Root::Early Root::early_end(const Said& said) const {
  const std::string type = type_of(said.message);
  if (type == "signal") {
    const int signal = said.message.value("signal", 15);
    Verdict verdict;
    verdict.exit_code = 128 + signal;
    verdict.kind = "interrupted";
    verdict.message = fmt::format("ended by signal {} before the workers were started", signal);
    return verdict;
  }
  if (type == "failed") return early("launcher", error_in(said.message));
  return std::nullopt;
}

std::vector<std::string> Root::node_names() const {
  std::vector<std::string> names;
  for (const scheduler::Node& node : session_.job.place.nodes) names.push_back(node.name);
  return names;
}

void Root::say_who_is_missing() const {
  const std::vector<std::string> missing = gathering_.missing(node_names());
  say(fmt::format("waiting for {} of {} {}{}", gathering_.expected() - gathering_.present(),
                  gathering_.expected(),
                  session_.job.place.stance == scheduler::Stance::in_place ? "ranks" : "nodes",
                  missing.empty() ? "" : ": " + hosts::compress_hostlist(missing)));
}

asio::awaitable<Root::Early> Root::gather() {
  const auto deadline = record_.phases.began + session_.job.join_timeout;
  auto next_word = steady_clock::now() + rendezvous::report_waiting_every;
  // One that has been admitted becomes a peer only when its welcome has been sent.
  while (!gathering_.complete() || peers_.size() < gathering_.members().size()) {
    const auto event = co_await inbox_.next(std::min(deadline, next_word));
    if (!event) {
      if (steady_clock::now() >= deadline) {
        const std::vector<std::string> missing = gathering_.missing(node_names());
        co_return early(
            "join_timeout",
            Error{fmt::format("{} of {} joined within {}", gathering_.present(),
                              gathering_.expected(), duration_text(session_.job.join_timeout)),
                  missing.empty() ? "" : "missing: " + hosts::compress_hostlist(missing),
                  "start the missing ones, or raise join_timeout in --rdzv-conf", exit_failure});
      }
      say_who_is_missing();
      next_word = steady_clock::now() + rendezvous::report_waiting_every;
      continue;
    }
    if (const auto* said = std::get_if<Said>(&*event)) {
      if (auto end = early_end(*said)) co_return end;
    } else if (const auto* left = std::get_if<Left>(&*event)) {
      say(fmt::format("an agent left before the job was complete: {}", left->reason));
      gathering_.forget(left->agent);
      peers_.erase(left->agent);
    }
  }
  record_.phases.joined = steady_clock::now();
  co_return std::nullopt;
}

Root::Early Root::place() {
  const std::vector<rendezvous::Join>& members = gathering_.members();
  topology::Map map;
  const bool asked =
      session_.job.options.topology != "auto" || session_.job.options.topology_required;
  if (session_.job.nnodes > 1 || asked) {
    const topology::Request request = locate_request(members, session_.job);
    auto located = topology::locate(request);
    if (!located) return early("launcher", located.error());
    map = std::move(*located);
    if (session_.job.options.topology_required) {
      const auto all = all_located(map, request);
      if (!all) return early("launcher", all.error());
    }
  }
  auto arranged = arrange(members, session_.job.options, map);
  if (!arranged) return early("launcher", arranged.error());
  arrangement_ = std::move(*arranged);
  record_.phases.ordered = steady_clock::now();
  for (std::size_t i = 0; i < members.size(); ++i) peers_[members[i].agent].index = i;
  for (const std::size_t i : arrangement_.nodes) {
    const rendezvous::Assignment& part = arrangement_.parts[i];
    record_.nodes.push_back(
        {members[i].host, part.group_rank, part.first_rank, part.local_world_size, part.location});
  }
  for (const std::string& warning : arrangement_.warnings) say(warning);
  if (session_.job.options.preflight) {
    for (const std::string& warning : preflight_warnings(members)) say(warning);
  }
  if (session_.job.options.verbose > 0) {
    say("order: " + arrangement_.order);
    for (const view::NodeRecord& node : record_.nodes) {
      say(fmt::format("  ranks {}–{} on {} {}", node.first_rank, node.first_rank + node.nproc - 1,
                      node.name, node.location));
    }
  }
  return std::nullopt;
}

rendezvous::StoreAddress Root::store_address() const {
  const rendezvous::Join& host = member(arrangement_.store_host);
  rendezvous::StoreAddress store;
  store.agent = host.agent;
  store.host = host.host;
  store.port = host.store_port;
  const Options& options = session_.job.options;
  if (options.master_addr.value && arrangement_.parts[arrangement_.store_host].group_rank == 0 &&
      host.node_rank == 0) {
    store.exact = *options.master_addr.value;
  }
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

void Root::assign() {
  const rendezvous::StoreAddress store = store_address();
  if (session_.job.options.verbose > 0 && session_.job.several_processes()) {
    say(fmt::format("the store is on {}, port {}", store.host, store.port));
  }
  for (std::size_t i = 0; i < arrangement_.parts.size(); ++i) {
    rendezvous::Assignment& part = arrangement_.parts[i];
    part.store = store;
    part.run_id = session_.job.run_id;
    peers_[member(i).agent].link->send(part);
  }
}

asio::awaitable<Root::Early> Root::all_ready() {
  const auto deadline = steady_clock::now() + ready_timeout;
  std::size_t ready = 0;
  while (ready < peers_.size()) {
    const auto event = co_await inbox_.next(deadline);
    if (!event) {
      std::vector<std::string> late;
      for (const auto& [agent, peer] : peers_) {
        if (!peer.ready) late.push_back(member(peer.index).host);
      }
      co_return early("launcher", Error{"no word from " + join(late, ", "),
                                        fmt::format("after {}", duration_text(ready_timeout)),
                                        "look at the agents there", exit_failure});
    }
    if (const auto* said = std::get_if<Said>(&*event)) {
      if (auto end = early_end(*said)) co_return end;
      if (type_of(said->message) == "ready") {
        peers_[said->agent].ready = true;
        ++ready;
      }
    } else if (const auto* left = std::get_if<Left>(&*event)) {
      const std::string host = member(peers_[left->agent].index).host;
      Verdict verdict = early("agent_lost", Error{"lost " + host, left->reason, "", exit_failure});
      verdict.node = host;
      co_return verdict;
    }
  }
  co_return std::nullopt;
}

asio::awaitable<Verdict> Root::watch() {
  std::vector<std::string> hosts;
  for (const rendezvous::Join& join : gathering_.members()) hosts.push_back(join.host);
  Conductor conductor(std::move(hosts), session_.job.grace);
  while (!conductor.over()) {
    const auto event = co_await inbox_.next(conductor.wake_at());
    if (!event) {
      conductor.passed(steady_clock::now());
    } else if (const auto* said = std::get_if<Said>(&*event)) {
      heard(conductor, *said);
    } else if (const auto* left = std::get_if<Left>(&*event)) {
      const Peer& peer = peers_[left->agent];
      if (peer.lifeline) {
        conductor.gone(peer.index);
      } else {
        conductor.lost(peer.index, left->reason.starts_with("no word"), left->reason);
      }
    }
    for (const Conductor::Order& order : conductor.take_orders()) {
      const bool interrupt = order.kind == Conductor::Order::Kind::interrupt;
      tell_all({{"type", interrupt ? "interrupt" : "stop"},
                {"signal", order.signal},
                {"grace_ms", order.grace.count()},
                {"reason", order.reason}});
    }
  }
  co_return conductor.verdict();
}

void Root::heard(Conductor& conductor, const Said& said) {
  const auto now = steady_clock::now();
  Peer& peer = peers_[said.agent];
  const json& message = said.message;
  const std::string type = type_of(message);
  const auto note = [&](const char* name, std::optional<SteadyTime>& phase) {
    if (message.contains(name)) phase = now - milliseconds(message.value(name, 0));
  };
  if (type == "started") {
    one_more_started();
  } else if (type == "exit") {
    if (auto exit = rendezvous::read<agent::WorkerExit>(message)) {
      conductor.exited(peer.index, std::move(*exit), now);
    }
  } else if (type == "gone") {
    note("first_connect_age_ms", record_.phases.first_connect);
    note("last_connect_age_ms", record_.phases.last_connect);
    conductor.gone(peer.index);
  } else if (type == "becoming") {
    peer.lifeline = true;
    one_more_started();
    peer.link->send({{"type", "become"}});
    peer.link->become_lifeline();
  } else if (type == "failed") {
    conductor.failed(peer.index, error_in(message));
  } else if (type == "signal") {
    conductor.signalled(peer.index, message.value("signal", 15));
  }
}

void Root::one_more_started() {
  if (++started_ == peers_.size()) record_.phases.spawned = steady_clock::now();
}

void Root::tell_all(const json& message) {
  for (auto& [agent, peer] : peers_) {
    if (!peer.lifeline) peer.link->send(message);
  }
}

asio::awaitable<void> Root::take_leave() {
  tell_all({{"type", "finish"},
            {"exit_code", record_.verdict.exit_code},
            {"summary", summary(session_.job, record_)}});
  for (auto& [agent, peer] : peers_) peer.link->close();
  const auto deadline = steady_clock::now() + farewell_timeout;
  std::size_t closed = 0;
  while (closed < peers_.size()) {
    const auto event = co_await inbox_.next(deadline);
    if (!event) co_return;
    const auto* left = std::get_if<Left>(&*event);
    if (left != nullptr && left->properly) ++closed;
  }
}

}  // namespace toprun::launch
