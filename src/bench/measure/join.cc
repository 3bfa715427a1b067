#include "bench/measure/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/net/resolve.h"
#include "base/os/trust.h"
#include "base/text/text.h"

namespace toprun::measure {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t token_letters = 32;

Result<std::size_t> number(const Environment& environment, const std::string& name) {
  const auto text = environment.non_empty(name);
  const auto value = text ? parse_int(*text) : std::nullopt;
  if (value && *value >= 0) return static_cast<std::size_t>(*value);
  return usage("toprun bench's worker",
               fmt::format("{} is {}", name, text ? "not a number" : "not set"),
               "do not start this worker by hand: `toprun bench` starts it");
}

// Where others reach this process: at the chosen interface, else where the route to the store goes
// out.
Result<std::string> own_address(const Self& self, const store::Client& store) {
  const auto local = TRY(hosts::local_addresses());
  const auto of_interface = [&](const hosts::LocalAddress& one) {
    return one.interface == self.interface && !one.address.is_link_local();
  };
  if (const auto found = std::ranges::find_if(local, of_interface); found != local.end()) {
    return found->address.text();
  }
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  ::getsockname(store.socket().get(), reinterpret_cast<sockaddr*>(&storage), &length);
  const hosts::Address address = hosts::Address::from(storage);
  if (self.nodes == 1 || !address.is_loopback()) return address.text();
  // The store's own host may reach it by loopback, where no other host reaches this process.
  const auto outside = [](const hosts::LocalAddress& one) {
    return !one.address.is_loopback() && !one.address.is_link_local();
  };
  const auto found = std::ranges::find_if(local, outside);
  return found == local.end() ? address.text() : found->address.text();
}

std::string key_of(const Self& self, std::string_view name) {
  return fmt::format("toprun.bench/{}/{}", self.attempt, name);
}

// A line for each: node, port, process id, address, host, location.
std::string contact_of(const Self& self, const std::string& address, int port) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", self.node, port, ::getpid(), address,
                     hosts::host_name(), self.location);
}

Result<Peer> peer_from(std::size_t rank, std::string_view reported) {
  const auto lines = split(reported, '\n');
  const auto number = [&](std::size_t line) { return parse_int(lines[line]).value_or(0); };
  if (lines.size() != 6) {
    return fail(fmt::format("rank {} of the measurement", rank),
                "a rank was started by a different toprun build");
  }
  return Peer{rank,
              static_cast<std::size_t>(number(0)),
              std::string(lines[4]),
              std::string(lines[5]),
              std::string(lines[3]),
              static_cast<int>(number(1)),
              number(2)};
}

// The first rank makes it, the others read it.
Result<std::string> token_of_all(const Self& self, store::Client& store, milliseconds limit) {
  const std::string key = key_of(self, "token");
  if (self.rank == 0) {
    std::string token = random_name(token_letters);
    TRY(store.set(key, token));
    return token;
  }
  const auto arrived = TRY(store.wait(std::span(&key, 1), limit));
  if (!arrived)
    return fail("rank 0", fmt::format("it has not connected after {} s", limit.count() / 1000));
  return store.get(key);
}

// "ranks 2, 5 of 8"
Result<std::string> absent_of(store::Client& store, std::span<const std::string> names) {
  constexpr std::size_t most_named = 8;
  std::vector<std::size_t> absent;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto arrived = TRY(store.check(names.subspan(rank, 1)));
    if (!arrived) absent.push_back(rank);
  }
  const std::span named = std::span(absent).first(std::min(absent.size(), most_named));
  return fmt::format("{} {}{} of {}", absent.size() == 1 ? "rank" : "ranks", fmt::join(named, ", "),
                     named.size() < absent.size() ? ", …" : "", names.size());
}

Result<std::vector<Peer>> meet(const Self& self, store::Client& store, milliseconds limit) {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < self.size; ++rank) {
    names.push_back(key_of(self, std::to_string(rank)));
  }
  const auto arrived = TRY(store.wait(names, limit));
  if (!arrived) {
    const auto absent = TRY(absent_of(store, names));
    return fail(absent, fmt::format("not ready to measure after {} s", limit.count() / 1000),
                "check whether its process is stopped or waits for a file system");
  }
  const auto values = TRY(store.multi_get(names));
  std::vector<Peer> peers;
  for (const std::string& value : values) {
    auto peer = TRY(peer_from(peers.size(), value));
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace

Result<Self> self_from(const Environment& environment) {
  Self self;
  struct Variable {
    const char* name;
    std::size_t* value;
  };
  std::size_t port = 0;
  for (const auto& [name, value] :
       std::initializer_list<Variable>{{"RANK", &self.rank},
                                       {"WORLD_SIZE", &self.size},
                                       {"GROUP_RANK", &self.node},
                                       {"GROUP_WORLD_SIZE", &self.nodes},
                                       {"MASTER_PORT", &port}}) {
    *value = TRY(number(environment, name));
  }
  self.store_port = static_cast<int>(std::min<std::size_t>(port, hosts::max_port));
  self.store_host = environment.non_empty("MASTER_ADDR").value_or("127.0.0.1");
  self.attempt = environment.non_empty("TORCHELASTIC_RESTART_COUNT").value_or("0");
  self.location = environment.non_empty("TOPRUN_LOCATION").value_or("");
  self.order = environment.non_empty("TOPRUN_RANK_ORDER").value_or("");
  self.interface = environment.non_empty("GLOO_SOCKET_IFNAME").value_or("");
  return self;
}

Result<store::Client> connect_store(const Self& self, milliseconds limit) {
  const auto addresses = TRY(hosts::resolve(self.store_host, limit));
  Result<store::Client> client = fail("the store at " + self.store_host, "no address");
  for (const hosts::Address& address : addresses) {
    client = store::Client::connect(address, self.store_port, limit);
    if (client) break;
  }
  return client;
}

std::size_t Group::ranks_here() const {
  return static_cast<std::size_t>(std::ranges::count(peers, peers[self.rank].node, &Peer::node));
}

Result<Group> join(const Self& self, milliseconds limit) {
  auto store = TRY(connect_store(self, limit));
  auto token = TRY(token_of_all(self, store, limit));
  auto mesh = TRY(Mesh::open(self.rank, std::move(token)));
  const auto address = TRY(own_address(self, store));
  const std::string key = key_of(self, std::to_string(self.rank));
  TRY(store.set(key, contact_of(self, address, mesh.port())));
  auto peers = TRY(meet(self, store, limit));
  mesh.know(peers);
  return Group{self, std::move(peers), std::move(mesh), std::move(store)};
}

}  // namespace toprun::measure
