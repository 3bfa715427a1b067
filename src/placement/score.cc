#include "placement/score.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "base/text.h"

namespace toprun::placement {
namespace {

struct Candidate {
  std::string_view name;
  Order order;
};
constexpr std::array candidates = {
    Candidate{"given", Order::given},
    Candidate{"name", Order::name},
    Candidate{"torchrun", Order::torchrun},
    Candidate{"topology", Order::topology},
};

std::vector<std::size_t> column(const Placement& placement, std::size_t Crossings::*figure) {
  std::vector<std::size_t> figures;
  for (const Crossings& ring : placement.ring) figures.push_back(ring.*figure);
  return figures;
}

void write_by_level(JsonWriter& json, const std::vector<std::string>& levels,
                    const std::vector<std::size_t>& figures) {
  json.raw("{");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").text(levels[i]).raw(": ").number(figures[i]);
  }
  json.raw("}");
}

// The form that topo order has, of the first and the last candidate.
void write_ring(JsonWriter& json, const Score& score) {
  json.raw("[");
  for (std::size_t i = 0; i < score.levels.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").raw("{\"level\": ").text(score.levels[i]);
    json.raw(", \"given\": ").number(score.orders.front().crossings[i]);
    json.raw(", \"ordered\": ").number(score.orders.back().crossings[i]);
    json.raw(", \"minimum\": ").number(score.minimum[i]).raw("}");
  }
  json.raw("]");
}

}  // namespace

Result<Score> score(const std::vector<Host>& hosts, const topology::Map& map) {
  Score score{map.source, map.levels, hosts.size(), {}, {}, {}, {}};
  for (const auto& [name, order] : candidates) {
    auto placed = place(hosts, map, {.order = order});
    if (!placed) return std::unexpected(placed.error());
    score.orders.push_back({name, column(*placed, &Crossings::ordered)});
    score.minimum = column(*placed, &Crossings::minimum);
    score.unplaced = std::move(placed->unplaced);
    score.warnings = std::move(placed->warnings);
  }
  return score;
}

std::string score_text(const Score& score) {
  if (score.levels.empty()) return {};
  constexpr std::size_t name_width = 8;  // of "torchrun", the longest
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

std::string score_json(const Score& score, std::string_view more) {
  JsonWriter json;
  json.raw("{\"schema\": \"toprun.topo_score/1\",\n \"source\": ").text(score.source);
  json.raw(",\n \"levels\": ").texts(score.levels);
  json.raw(",\n \"nodes\": ").number(score.nodes);
  json.raw(",\n \"orders\": ");
  json.list(
      score.orders,
      [&](const Scored& order) {
        json.raw("{\"name\": ").text(order.name).raw(", \"crossings\": ");
        write_by_level(json, score.levels, order.crossings);
        json.raw("}");
      },
      ",\n  ");
  json.raw(",\n \"minimum\": ");
  write_by_level(json, score.levels, score.minimum);
  json.raw(",\n \"ring\": ");
  write_ring(json, score);
  json.raw(",\n \"unplaced\": ").texts(score.unplaced);
  json.raw(",\n \"warnings\": ").texts(score.warnings);
  if (!more.empty()) json.raw(",\n ").raw(more);
  json.raw("}\n");
  return json.take();
}

}  // namespace toprun::placement
