#include "bench/measure/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text/counted.h"
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
  if (order == "topology") return ranks;
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
      return usage(fmt::format("--nodes {}", count), fmt::format("the job has {}", nodes.size()));
    }
    found.push_back(joined({nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count)}));
  }
  for (const std::size_t count : request.ranks) {
    if (count == 0 || count > all.size()) {
      return usage(fmt::format("--ranks {}", count), fmt::format("the job has {}", all.size()));
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
    return fmt::format("order {}{} is given twice, but measured only once", order, where);
  }
  return fmt::format("order {}{} is left out: it is the same as order {}", order, where,
                     same.order);
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

Result<Compared> compared(const Request& request, std::span<const Peer> peers) {
  const auto sets = TRY(subsets(request, peers));
  std::vector<std::string> orders = request.orders;
  if (orders.empty()) orders.emplace_back(order_names.front());
  std::vector<std::string> backends = request.backends;
  if (backends.empty()) backends.emplace_back("tcp");
  std::vector<std::string> fabrics = request.fabrics;
  if (fabrics.empty()) fabrics.emplace_back();
  const std::vector<std::string> first_fabric = {fabrics.front()};
  Compared found;
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

}  // namespace toprun::measure
