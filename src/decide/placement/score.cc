#include "decide/placement/score.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "decide/cost/cost.h"

namespace toprun::placement {
namespace {

struct ScoredOrder {
  std::string_view name;
  Order order;
};
constexpr std::array scored_orders = {
    ScoredOrder{"given", Order::given},
    ScoredOrder{"name", Order::name},
    ScoredOrder{"torchrun", Order::torchrun},
    ScoredOrder{"topology", Order::topology},
};

std::vector<std::size_t> column(const Placement& placement, std::size_t Crossings::*figure) {
  std::vector<std::size_t> figures;
  for (const Crossings& ring : placement.ring) figures.push_back(ring.*figure);
  return figures;
}

// The nodes by their index among the hosts.
std::vector<const Node*> by_index(const Placement& placement) {
  std::vector<const Node*> nodes(placement.nodes.size());
  for (const Node& node : placement.nodes) nodes[node.index] = &node;
  return nodes;
}

cost::Network network_of(const Placement& placement, const cost::Links& links) {
  std::vector<const topology::Path*> paths;
  for (const Node* node : by_index(placement)) paths.push_back(&node->location.path);
  return {cost::Domains(paths, placement.levels.size()), paths, links};
}

// The nodes with ranks, in rank order.
std::vector<std::size_t> order_of(const Placement& placement) {
  std::vector<std::size_t> order;
  for (const Node& node : placement.nodes) {
    if (node.nproc > 0) order.push_back(node.index);
  }
  return order;
}

std::string name_of(const cost::Load& load, const cost::Network& network, const Node& node) {
  if (load.level == network.levels() || network.link(load.level).nvlink) return node.name;
  const auto& domain = node.location.path[load.level];
  return domain ? *domain : "of " + node.name;
}

std::vector<Priced> price(const Placement& placement, const cost::Network& network, double bytes) {
  const auto nodes = by_index(placement);
  const auto order = order_of(placement);
  std::vector<Priced> priced;
  for (const cost::CollectiveName& name : cost::collectives) {
    const cost::Cost cost = cost::cost_of(name.collective, network, order, bytes);
    priced.push_back({cost.seconds, {}});
    if (const auto& load = cost.worst) {
      priced.back().worst =
          Priced::Link{network.link(load->level).name, name_of(*load, network, *nodes[load->node]),
                       load->flows, load->bytes, load->seconds};
    }
  }
  return priced;
}

Result<Placement> place_candidate(std::size_t i, const std::vector<Host>& hosts,
                                  const topology::Map& map, const Terms& terms) {
  if (i < scored_orders.size()) return place(hosts, map, {.order = scored_orders[i].order});
  return place_as_listed(hosts, map, terms.listed->text, terms.listed->file);
}

}  // namespace

Result<Score> score(const std::vector<Host>& hosts, const topology::Map& map, Terms terms) {
  Score score{map.source, map.levels, hosts.size(), std::move(terms), {}, {}, {}, {}, {}};
  std::optional<cost::Network> network;
  const std::size_t count = scored_orders.size() + (score.terms.listed ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    auto placed = TRY(place_candidate(i, hosts, map, score.terms));
    if (!network) network.emplace(network_of(placed, score.terms.links));
    score.orders.push_back({i < scored_orders.size() ? scored_orders[i].name : "file",
                            column(placed, &Crossings::ordered),
                            price(placed, *network, score.terms.message_bytes)});
    if (i > 0) continue;
    for (const cost::CollectiveName& name : cost::collectives) {
      score.least.push_back(cost::least_seconds(name.collective, *network, order_of(placed),
                                                score.terms.message_bytes));
    }
    score.minimum = column(placed, &Crossings::minimum);
    score.unplaced = std::move(placed.unplaced);
    score.warnings = std::move(placed.warnings);
  }
  return score;
}

bool all_links_assumed(const cost::Links& links) {
  return links.host.assumed && std::ranges::all_of(links.levels, &cost::Links::Level::assumed);
}

}  // namespace toprun::placement
