#include "bench/measure/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/text/text.h"

namespace toprun::measure {
namespace {

using Ranks = std::vector<std::size_t>;

// The ranks of each node, by the node's number.
std::vector<Ranks> by_node(std::span<const Peer> peers, const Ranks& ranks) {
  std::map<std::size_t, Ranks> nodes;
  for (const std::size_t rank : ranks) nodes[peers[rank].node].push_back(rank);
  std::vector<Ranks> found;
  for (auto& [node, its] : nodes) found.push_back(std::move(its));
  return found;
}

Ranks joined(const std::vector<Ranks>& nodes) {
  Ranks ranks;
  for (const Ranks& node : nodes) ranks.insert(ranks.end(), node.begin(), node.end());
  return ranks;
}

// One node of each domain after the other.
std::vector<Ranks> scattered(std::span<const Peer> peers, const std::vector<Ranks>& nodes) {
  std::map<std::string, std::vector<Ranks>> domains;
  for (const Ranks& node : nodes) domains[domain_of(peers[node.front()])].push_back(node);
  std::vector<Ranks> found;
  for (std::size_t i = 0; found.size() < nodes.size(); ++i) {
    for (const auto& [name, its] : domains) {
      if (i < its.size()) found.push_back(its[i]);
    }
  }
  return found;
}

Ranks in_order(std::span<const Peer> peers, const Ranks& ranks, std::string_view order) {
  if (order != "hostname" && order != "worst") return ranks;
  std::vector<Ranks> nodes = by_node(peers, ranks);
  if (order == "worst") return joined(scattered(peers, nodes));
  std::ranges::sort(nodes, natural_less,
                    [&](const Ranks& node) { return peers[node.front()].host; });
  return joined(nodes);
}

// The sets of ranks to be measured.
Result<std::vector<Ranks>> subsets(const Request& request, std::span<const Peer> peers) {
  Ranks all(peers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<Ranks> nodes = by_node(peers, all);
  std::vector<Ranks> found;
  for (const std::size_t count : request.nodes) {
    if (count == 0 || count > nodes.size()) {
      return usage(fmt::format("--nodes {}", count),
                   "the job has " + counted(nodes.size(), "node"));
    }
    found.push_back(joined({nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count)}));
  }
  for (const std::size_t count : request.ranks) {
    if (count == 0 || count > all.size()) {
      return usage(fmt::format("--ranks {}", count), "the job has " + counted(all.size(), "rank"));
    }
    found.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (found.empty()) found.push_back(std::move(all));
  return found;
}

// Why an order of these ranks is not measured.
std::string dropped_words(const Cell& same, const std::string& order, bool has_other_sets) {
  const std::string where = has_other_sets
                                ? fmt::format(" of {} on {}", counted(same.ranks.size(), "rank"),
                                              counted(same.nodes, "node"))
                                : "";
  if (same.order == order) {
    return fmt::format("{}{} is given twice, but measured only once",
                       order.empty() ? "the order" : "order " + order, where);
  }
  return fmt::format("order {}{} is left out: it is the same as order {}", order, where,
                     same.order);
}

using std::chrono::milliseconds;

constexpr milliseconds connection_limit{30'000};

using bench::Collective;

// The bytes from one position to another, in units of S times the busbw factor.
using Visit = std::function<void(std::size_t from, std::size_t to, double part)>;

void visit_ring(Collective collective, std::size_t n, std::size_t root, const Visit& visit) {
  for (std::size_t from = 0; from < n; ++from) {
    const std::size_t to = (from + 1) % n;
    // A chain begins or ends at the root.
    const bool is_unused = (collective == Collective::broadcast && to == root) ||
                           (collective == Collective::reduce && from == root);
    if (!is_unused) visit(from, to, 1);
  }
}

void visit_flows(Collective collective, std::size_t n, std::size_t root, const Visit& visit) {
  const double part = 1 / static_cast<double>(n - 1);
  switch (collective) {
    case Collective::barrier:
      return;
    case Collective::alltoall:
      for (std::size_t from = 0; from < n; ++from) {
        for (std::size_t to = 0; to < n; ++to) {
          if (from != to) visit(from, to, part);
        }
      }
      return;
    case Collective::gather:
    case Collective::scatter:
      for (std::size_t other = 0; other < n; ++other) {
        if (other == root) continue;
        if (collective == Collective::gather) visit(other, root, part);
        if (collective == Collective::scatter) visit(root, other, part);
      }
      return;
    default:
      visit_ring(collective, n, root, visit);
  }
}

struct Load {
  double out = 0;
  double in = 0;
};

// The busiest link of one kind. `place`: the name of what a rank is in; empty: not known.
template <class Where>
void lower(std::optional<Limit>& limit, const Cell& cell, Collective collective, std::size_t root,
           double rate, double share, std::string_view kind, Where place) {
  std::map<std::string, Load> loads;
  visit_flows(collective, cell.ranks.size(), root,
              [&](std::size_t from, std::size_t to, double part) {
                const std::string source = place(cell.ranks[from]);
                const std::string target = place(cell.ranks[to]);
                if (source == target || source.empty() || target.empty()) return;
                loads[source].out += part;
                loads[target].in += part;
              });
  for (const auto& [name, load] : loads) {
    const double most = std::max(load.out, load.in);
    if (limit && rate / most >= limit->busbw_gbps) continue;
    const std::string_view way = load.out >= load.in ? "sends" : "receives";
    limit = {rate / most, fmt::format("{} {} {} {:.3g} × busbw", kind, name, way, most), share};
  }
}

}  // namespace

std::string domain_of(const Peer& peer) {
  return peer.location.substr(0, peer.location.rfind('/'));
}

std::optional<std::size_t> Cell::position_of(std::size_t rank) const {
  const auto found = std::ranges::find(ranks, rank);
  if (found == ranks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ranks.begin());
}

// The job's order in words.
std::string_view order_words(std::string_view job_order) {
  if (job_order == "name") return "the order of the host names";
  if (job_order == "scheduler") return "the scheduler's order";
  if (job_order == "given") return "the order in which the hosts were given";
  return "the job's order";
}

std::string instead_of_topology(std::span<const Peer> peers, std::string_view job_order) {
  const bool has_topology =
      std::ranges::any_of(peers, [](const Peer& peer) { return !peer.location.empty(); });
  return fmt::format("--orders topology: {}, so toprun measures {} instead",
                     has_topology ? "the job was started in another order (toprun -v says why)"
                                  : "no topology is known (--topology FILE gives one)",
                     order_words(job_order));
}

Result<Compared> compared(const Request& request, std::span<const Peer> peers,
                          std::string_view job_order) {
  const auto sets = TRY(subsets(request, peers));
  // All orders of one node are the same.
  const bool is_one_node = peers.empty() || peers.front().node == peers.back().node;
  const std::string own_order(is_one_node ? "" : job_order);
  Compared found;
  std::vector<std::string> orders = request.orders;
  if (is_one_node && !orders.empty()) {
    found.dropped.emplace_back("--orders has no effect: all ranks are on one node");
    orders.clear();
  }
  if (orders.empty()) orders.push_back(own_order);
  std::vector<std::string> backends = request.backends;
  if (backends.empty()) backends.emplace_back("tcp");
  std::vector<std::string> fabrics = request.fabrics;
  if (fabrics.empty()) fabrics.emplace_back();
  const std::vector<std::string> first_fabric = {fabrics.front()};
  if (const auto named = std::ranges::find(orders, "topology");
      named != orders.end() && !own_order.empty() && own_order != "topology") {
    found.dropped.push_back(instead_of_topology(peers, own_order));
    std::ranges::replace(orders, "topology", own_order);
  }
  for (const Ranks& set : sets) {
    const std::size_t nodes = by_node(peers, set).size();
    for (const std::string& order : orders) {
      const Ranks ranks = in_order(peers, set, order);
      const auto same = std::ranges::find(found.cells, ranks, &Cell::ranks);
      if (same != found.cells.end()) {
        found.dropped.push_back(dropped_words(*same, order, sets.size() > 1));
        continue;
      }
      for (const std::string& backend : backends) {
        for (const std::string& fabric : nodes == 1 ? first_fabric : fabrics) {
          found.cells.push_back({backend, fabric, order, nodes, ranks});
        }
      }
    }
  }
  return found;
}

Result<void> CellMesh::connect(bench::Collective collective, std::size_t stripes) {
  std::vector<std::size_t> ranks;
  for (const std::size_t position : peers(collective, ring_)) {
    ranks.push_back(cell_.ranks[position]);
  }
  return group_.mesh.connect(ranks, stripes, connection_limit);
}

std::vector<Lane> CellMesh::lanes(bench::Collective collective, const Buffers& buffers,
                                  std::size_t stripes) const {
  std::vector<Lane> lanes;
  for (Planned& planned : plan(collective, ring_, buffers, stripes)) {
    Lane& lane = planned.lane;
    if (planned.to < ring_.size) bind(planned.to, planned.stripe, lane.out_socket, lane.to);
    if (planned.from < ring_.size) {
      bind(planned.from, planned.stripe, lane.in_socket, lane.from);
    }
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

Result<void> CellMesh::combine_over_all(std::vector<double>& values, Op op,
                                        milliseconds limit) const {
  const std::size_t bytes = values.size() * sizeof(double);
  auto* const data = reinterpret_cast<std::byte*>(values.data());
  const Buffers buffers{data, data, nullptr, bytes, sizeof(double)};
  return transfer(lanes(bench::Collective::all_reduce, buffers, 1), combine_of(Type::float64, op),
                  sizeof(double), limit);
}

Result<void> CellMesh::barrier(milliseconds limit) const {
  std::vector<double> nothing(ring_.size);
  return combine_over_all(nothing, Op::sum, limit);
}

void CellMesh::bind(std::size_t position, std::size_t stripe, int& socket,
                    std::string& name) const {
  const std::size_t rank = cell_.ranks[position];
  socket = group_.mesh.socket(rank, stripe);
  name = group_.peers[rank].text();
}

double tcp_share(int mtu, bool is_ipv6) {
  constexpr int ethernet = 14;
  constexpr int tcp = 20 + 12;
  const int headers = (is_ipv6 ? 40 : 20) + tcp;
  if (mtu <= headers) return 1;
  return static_cast<double>(mtu - headers) / (mtu + ethernet);
}

std::optional<Limit> limit_of(Collective collective, const Cell& cell, std::span<const Peer> peers,
                              std::size_t root, const Rates& rates) {
  std::optional<Limit> limit;
  if (cell.ranks.size() < 2) return limit;
  const std::size_t position = cell.position_of(root).value_or(0);
  const double share = cell.backend == "tcp" || cell.backend == "gloo" ? rates.tcp_share : 1;
  if (rates.node) {
    lower(limit, cell, collective, position, *rates.node * share, share, "host",
          [&](std::size_t rank) { return peers[rank].host; });
  }
  if (rates.uplink) {
    lower(limit, cell, collective, position, *rates.uplink * share, share, uplink_word,
          [&](std::size_t rank) { return domain_of(peers[rank]); });
  }
  return limit;
}

}  // namespace toprun::measure
