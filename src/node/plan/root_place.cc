#include "node/plan/root_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/net/host_file.h"
#include "base/net/resolve.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "engines/mpi/world.h"

namespace toprun::plan {
namespace {

Result<hosts::NamedHosts> read_host_file(const Setting<std::string>& path) {
  auto text = read_file(path.value, hosts::max_host_file_bytes);
  if (!text) {
    text.error()->exit_code = exit_usage;
    return std::unexpected(std::move(text.error()));
  }
  return hosts::parse_host_file(*text, path.value);
}

constexpr std::chrono::seconds meeting_limit{120};
constexpr std::size_t max_addresses = 8;

std::string own_addresses() {
  std::vector<std::string> texts;
  const auto own = hosts::local_addresses();
  if (!own) return hosts::host_name();
  for (const hosts::LocalAddress& local : *own) {
    const bool useful = !local.address.is_loopback() && !local.address.is_link_local();
    if (useful && texts.size() < max_addresses) texts.push_back(local.address.text());
  }
  return texts.empty() ? hosts::host_name() : join(texts, ",");
}

using engines::Allocation;

// The index of the endpoint's node in the engine's list, if it is there.
std::optional<int> listed(const std::string& host, const std::vector<engines::Node>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (hosts::same_host(host, nodes[i].name)) return static_cast<int>(i);
  }
  return std::nullopt;
}

// Whether the engine is sure that processes of the job run on more than one host.
bool spans_hosts(const Allocation& place) {
  if (place.task) {
    // Variables that a user has set (--ranks-in-place) may not tell how many tasks are here.
    return place.engine == engines::EngineKind::mpi &&
           place.tasks > place.tasks_on_my_node.value_or(1);
  }
  if (place.nodes.empty()) return place.root_candidates.size() > 1;
  return std::ranges::any_of(place.nodes, [&](const engines::Node& node) {
    return node.name != place.nodes.front().name;
  });
}

// Where the engine's root may be, the likeliest first: on one node, unless the user has numbered
// the nodes in another order than the engine.
std::vector<std::string> engine_roots(const Options& options, const Allocation& place) {
  if (place.task || place.nodes.empty()) return place.root_candidates;
  std::vector<std::string> hosts = {place.nodes.front().name};
  const auto number = node_rank_is_a_hint(options) ? std::nullopt : options.node_rank.value;
  if (!number) return hosts;
  const auto own = static_cast<std::size_t>(*number);
  if (own < place.nodes.size() && place.nodes[own].name == place.node_name) return hosts;
  for (std::size_t i = 1; i < place.nodes.size() && i < engines::max_root_candidates; ++i) {
    hosts.push_back(place.nodes[i].name);
  }
  return hosts;
}

void look_at(std::vector<std::string> hosts, RootPlace& root) {
  if (hosts.empty()) return;
  root.host = std::move(hosts.front());
  root.others.assign(std::next(hosts.begin()), hosts.end());
}

std::optional<bool> reported_by_is_host(const Options& options) {
  const auto reported = options.rdzv_conf.find("is_host");
  if (reported == options.rdzv_conf.end()) return std::nullopt;
  const std::string word = lower(reported->second);
  return word == "1" || word == "true" || word == "yes";
}

// Whether this process is the root, by the engine's or the user's number of it.
std::optional<bool> is_root(const Options& options, const Allocation& place, bool has_endpoint,
                            int root_index) {
  std::optional<int> index = place.my_node;
  if (!node_rank_is_a_hint(options) && options.node_rank.value) {
    index = options.node_rank.value;
  } else if (place.task) {
    // The host with the user's endpoint is the root: its agent, or the first of its ranks.
    if (!has_endpoint) return *place.task == 0;
    return place.local_rank.value_or(0) > 0 ? std::optional(false) : std::nullopt;
  }
  if (!index) return std::nullopt;
  return *index == root_index && place.local_rank.value_or(0) == 0;
}

}  // namespace

Result<std::vector<engines::Node>> named_hosts(const Options& options,
                                               std::vector<std::string>& notes) {
  hosts::NamedHosts named;
  if (options.hosts.is_set()) {
    named.hosts = TRY(hosts::parse_hosts(options.hosts.value, options.hosts.source));
  } else if (options.host_file.is_set()) {
    named = TRY(read_host_file(options.host_file));
  }
  notes.insert(notes.end(), named.notes.begin(), named.notes.end());
  std::vector<engines::Node> nodes;
  for (hosts::NamedHost& host : named.hosts) {
    nodes.push_back({std::move(host.name), host.slots, std::move(host.login)});
  }
  return nodes;
}

Result<std::optional<engines::PmiMeeting>> meet(const Environment& environment) {
  const auto fd = parse_int(environment.get(engines::pmi_fd_variable).value_or(""));
  const auto world = engines::mpi_world(environment);
  if (!fd || !world || !*world || (*world)->size == 1) return std::nullopt;
  const int rank = (*world)->rank;
  const engines::PmiRank me{static_cast<int>(*fd), rank, (*world)->size, (*world)->local_rank};
  auto meeting = TRY(engines::meet_by_pmi(me, rank == 0 ? own_addresses() : "",
                                          std::chrono::steady_clock::now() + meeting_limit));
  return std::move(meeting);
}

std::optional<NamedEndpoint> named_endpoint(const Options& options) {
  if (const auto& endpoint = options.rdzv_endpoint; endpoint.value) {
    return NamedEndpoint{endpoint.value->host, endpoint.source};
  }
  if (!options.master_addr.value) return std::nullopt;
  return NamedEndpoint{*options.master_addr.value, options.master_addr.source};
}

RootPlace place_root(const Options& options, const Allocation& place, hosts::Reach reach) {
  RootPlace root;
  auto endpoint = named_endpoint(options);
  const auto reported = reported_by_is_host(options);
  const auto of_engine = engine_roots(options, place);
  const bool engine_knows = !reported && !of_engine.empty() && spans_hosts(place);
  if (endpoint && (engine_knows || place.root_node) && hosts::reaches_itself_only(endpoint->host)) {
    root.endpoint_is_meant = false;
    if (!place.root_node) {
      root.note = fmt::format(
          "{} {} is a local address on every host, so no other node can reach the root there: the "
          "root is at {} instead",
          endpoint->source, endpoint->host, of_engine.front());
    }
    endpoint.reset();
  }
  std::optional<int> named;
  if (endpoint && !place.root_node) named = listed(endpoint->host, place.nodes);
  root.is_root =
      is_root(options, place, endpoint.has_value(), place.root_node.value_or(named.value_or(0)));
  if (reach == hosts::Reach::this_host) {
    root.host = hosts::loopback().text();
  } else if (place.root_node) {
    root.host = place.root_address;
  } else if (endpoint) {
    root.host = endpoint->host;
    const bool has_engines_root =
        place.task ? place.engine == engines::EngineKind::mpi : root.is_root.has_value();
    if (engine_knows && !named && has_engines_root) {
      root.others = of_engine;
      root.beside_endpoint = of_engine.front();
      root.if_no_other = place.task == 0;
    }
  } else if (place.task || !of_engine.empty()) {
    look_at(of_engine, root);
  } else {
    root.host = "127.0.0.1";
  }
  if (reported) root.is_root = reported;
  if (!root.is_root.value_or(false)) root.note.clear();
  return root;
}

}  // namespace toprun::plan
