#include "decide/placement/score.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json/json_text.h"
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

// In the unit of `least`, so that times in different rows are comparable; three significant digits.
std::string seconds_text(double seconds, double least) {
  constexpr std::array units = {"µs", "ms", "s"};
  double value = seconds * 1e6;
  std::size_t unit = 0;
  for (double in_unit = least * 1e6; in_unit >= 1000 && unit + 1 < units.size(); ++unit) {
    in_unit /= 1000;
    value /= 1000;
  }
  const int decimals = value >= 100 || value == std::floor(value) ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

double ratio(double seconds, double least) {
  return least > 0 ? seconds / least : 1;
}

constexpr std::size_t name_width = 8;  // width of "torchrun", the longest

std::string crossings_text(const Score& score) {
  const std::size_t most_digits = fmt::formatted_size("{}", score.nodes);
  std::vector<std::string> levels;
  for (const std::string& level : score.levels) levels.push_back(printable(level));
  std::string out = fmt::format("neighbours in another domain, of {} in the ring\n{:<{}}",
                                score.nodes, "order", name_width);
  for (const std::string& level : levels) out += fmt::format("  {:>{}}", level, most_digits);
  out += '\n';
  const auto add_row = [&](std::string_view name, const std::vector<std::size_t>& figures) {
    out += fmt::format("{:<{}}", name, name_width);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      out += fmt::format("  {:>{}}", figures[i], std::max(levels[i].size(), most_digits));
    }
    out += '\n';
  };
  for (const Scored& order : score.orders) add_row(order.name, order.crossings);
  add_row("minimum", score.minimum);
  return out;
}

std::string link_text(const Priced::Link& link) {
  return fmt::format("{} {}: {}, {}", printable(link.level), printable(link.name),
                     counted(link.flows, "flow"), bytes_text(link.bytes));
}

constexpr std::size_t message_width = 16;  // width of "512 MiB per node"

// The link's name is the last column, because it may be long.
void add_cost_row(std::string& out, std::string_view name, const Priced& priced, double least) {
  out += fmt::format("  {:<{}}  {:>8}  {:>6.2f}", name, message_width - 2,
                     seconds_text(priced.seconds, least), ratio(priced.seconds, least));
  out += priced.worst ? "  " + link_text(*priced.worst) + "\n" : "\n";
}

std::string costs_text(const Score& score) {
  std::string out =
      fmt::format("{:<{}}  {:>8}  {:>6}  {}\n", bytes_text(score.terms.message_bytes) + " per node",
                  message_width, "time", "ratio", "busiest link, each way");
  for (std::size_t i = 0; i < cost::collectives.size(); ++i) {
    out += fmt::format("{}\n", cost::collectives[i].text);
    if (cost::collectives[i].collective == cost::Collective::all_to_all) {
      add_cost_row(out, "any order", score.orders.front().priced[i], score.least[i]);
      continue;
    }
    for (const Scored& order : score.orders) {
      add_cost_row(out, order.name, order.priced[i], score.least[i]);
    }
    add_cost_row(out, "bound", {score.least[i], {}}, score.least[i]);
  }
  return out + "ratio: the time divided by the bound, which no order can beat\n";
}

std::string number(double value) {
  return fmt::format("{:.9g}", value);
}

void write_by_level(JsonWriter& json, const std::vector<std::string>& levels,
                    const std::vector<std::size_t>& figures) {
  json.raw("{");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").text(levels[i]).raw(": ").number(figures[i]);
  }
  json.raw("}");
}

void write_link(JsonWriter& json, const cost::Links::Level& link) {
  json.raw("{\"level\": ").text(link.name);
  json.raw(", \"gbps\": ").raw(link.gbps > 0 ? number(link.gbps) : "null");
  json.raw(", \"latency_us\": ").raw(number(link.latency_us));
  json.raw(", \"assumed\": ").raw(link.assumed ? "true}" : "false}");
}

void write_links(JsonWriter& json, const cost::Links& links) {
  auto all = links.levels;
  all.push_back(links.host);
  json.list(all, [&](const cost::Links::Level& link) { write_link(json, link); });
}

void write_worst(JsonWriter& json, const std::optional<Priced::Link>& worst) {
  if (!worst) {
    json.raw("null");
    return;
  }
  json.raw("{\"level\": ").text(worst->level).raw(", \"name\": ").text(worst->name);
  json.raw(", \"flows\": ").number(worst->flows);
  json.raw(", \"bytes\": ").raw(number(worst->bytes));
  json.raw(", \"seconds\": ").raw(number(worst->seconds)).raw("}");
}

void write_costs(JsonWriter& json, const std::vector<Priced>& priced,
                 const std::vector<double>& least) {
  json.raw("{");
  for (std::size_t i = 0; i < cost::collectives.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").text(cost::collectives[i].key);
    json.raw(": {\"seconds\": ").raw(number(priced[i].seconds));
    json.raw(", \"ratio\": ").raw(number(ratio(priced[i].seconds, least[i])));
    json.raw(", \"worst\": ");
    write_worst(json, priced[i].worst);
    json.raw("}");
  }
  json.raw("}");
}

void write_least(JsonWriter& json, const std::vector<double>& least) {
  json.raw("{");
  for (std::size_t i = 0; i < cost::collectives.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").text(cost::collectives[i].key).raw(": ").raw(number(least[i]));
  }
  json.raw("}");
}

// The same form as in topo order, for the given order and the topology order.
void write_ring(JsonWriter& json, const Score& score) {
  const auto& given = *std::ranges::find(score.orders, "given", &Scored::name);
  const auto& ordered = *std::ranges::find(score.orders, "topology", &Scored::name);
  json.raw("[");
  for (std::size_t i = 0; i < score.levels.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").raw("{\"level\": ").text(score.levels[i]);
    json.raw(", \"given\": ").number(given.crossings[i]);
    json.raw(", \"ordered\": ").number(ordered.crossings[i]);
    json.raw(", \"minimum\": ").number(score.minimum[i]).raw("}");
  }
  json.raw("]");
}

}  // namespace

Result<Score> score(const std::vector<Host>& hosts, const topology::Map& map, Terms terms) {
  Score score{map.source, map.levels, hosts.size(), std::move(terms), {}, {}, {}, {}, {}};
  std::optional<cost::Network> network;
  const std::size_t count = scored_orders.size() + (score.terms.listed ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    auto placed = TRY(place_candidate(i, hosts, map, score.terms));
    if (!network) network.emplace(network_of(placed, score.terms.links));
    score.orders.push_back(
        {i < scored_orders.size() ? scored_orders[i].name : score.terms.listed->name,
         column(placed, &Crossings::ordered), price(placed, *network, score.terms.message_bytes)});
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

std::string score_text(const Score& score) {
  if (score.levels.empty()) return {};
  return crossings_text(score) + "\n" + costs_text(score);
}

std::string score_json(const Score& score, std::string_view more) {
  JsonWriter json;
  json.raw("{\"schema\": \"toprun.topo_score/1\",\n \"source\": ").text(score.source);
  json.raw(",\n \"levels\": ").texts(score.levels);
  json.raw(",\n \"nodes\": ").number(score.nodes);
  json.raw(",\n \"bytes\": ").raw(number(score.terms.message_bytes));
  json.raw(",\n \"links\": ");
  write_links(json, score.terms.links);
  json.raw(",\n \"orders\": ");
  json.list(
      score.orders,
      [&](const Scored& order) {
        json.raw("{\"name\": ").text(order.name).raw(", \"crossings\": ");
        write_by_level(json, score.levels, order.crossings);
        json.raw(",\n   \"cost\": ");
        write_costs(json, order.priced, score.least);
        json.raw("}");
      },
      ",\n  ");
  json.raw(",\n \"minimum\": ");
  write_by_level(json, score.levels, score.minimum);
  json.raw(",\n \"least\": ");
  write_least(json, score.least);
  json.raw(",\n \"ring\": ");
  write_ring(json, score);
  json.raw(",\n \"unplaced\": ").texts(score.unplaced);
  json.raw(",\n \"warnings\": ").texts(score.warnings);
  if (!more.empty()) json.raw(",\n ").raw(more);
  json.raw("}\n");
  return json.take();
}

}  // namespace toprun::placement
