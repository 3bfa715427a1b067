#include "observe/report/outline.h"

#include <algorithm>

#include "base/json/json_text.h"
#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::report {
namespace {

using Nodes = std::span<const placement::Node>;

// Whether any level from this one inwards is known. Known domains come before unknown ones, so the
// first node has as many known levels as any other.
bool known_inside(Nodes nodes, std::size_t level) {
  const topology::Path& path = nodes.front().location.path;
  return std::any_of(path.begin() + static_cast<std::ptrdiff_t>(level), path.end(),
                     [](const auto& domain) { return domain.has_value(); });
}

// The domains of one level among nodes that share all levels around it.
std::vector<Domain> split_at(Nodes nodes, std::size_t level) {
  std::vector<Domain> domains;
  while (!nodes.empty()) {
    const auto& path = nodes.front().location.path;
    const auto other = std::ranges::find_if(nodes, [&](const placement::Node& node) {
      return node.location.path[level] != path[level];
    });
    const auto count = static_cast<std::size_t>(other - nodes.begin());
    Domain domain{level, path[level], nodes.first(count), {}};
    const bool further = level + 1 < path.size() && known_inside(domain.nodes, level + 1);
    if (further || (domain.name && level + 1 < path.size())) {
      domain.inside = split_at(domain.nodes, level + 1);
    }
    if (domain.name.is_none() && further) {
      std::ranges::move(domain.inside, std::back_inserter(domains));
    } else {
      domains.push_back(std::move(domain));
    }
    nodes = nodes.subspan(count);
  }
  return domains;
}

// Domains with the same parent.
using Siblings = std::span<const Domain>;

class Text {
 public:
  Text(const placement::Placement& placement, bool fold) : placement_(placement), fold_(fold) {}

  std::string run() {
    add_all(outline(placement_), 0);
    if (!placement_.unplaced.empty()) {
      lines_.push_back({"place unknown", counted(placement_.unplaced.size(), "node"),
                        one_line_list(placement_.unplaced)});
    }
    std::size_t left = 0;
    std::size_t middle = 0;
    for (const Line& line : lines_) {
      left = std::max(left, line.domain.size());
      middle = std::max(middle, line.count.size());
    }
    std::string out;
    for (const Line& line : lines_) {
      const std::string text =
          fmt::format("{:<{}}  {:<{}}  {}", line.domain, left, line.count, middle, line.nodes);
      out += printable(text.substr(0, text.find_last_not_of(' ') + 1)) + '\n';
    }
    return out;
  }

 private:
  struct Line {
    std::string domain, count, nodes;
  };

  // `depth`: how many domains are around them. A branch that lacks a level is less deep there.
  void add_all(Siblings domains, std::size_t depth) {
    while (!domains.empty()) {
      const auto other = std::ranges::find_if(
          domains, [](const Domain& domain) { return !domain.inside.empty() || !domain.name; });
      const auto alike = static_cast<std::size_t>(other - domains.begin());
      const std::size_t taken = std::max<std::size_t>(alike, 1);
      if (fold_ && alike > max_siblings) {
        add_folded(domains.first(alike), depth);
      } else {
        for (const Domain& domain : domains.first(taken)) add(domain, depth);
      }
      domains = domains.subspan(taken);
    }
  }

  void add(const Domain& domain, std::size_t depth) {
    lines_.push_back(
        {label(domain, depth, domain.name.value_or(domain.name.is_none() ? "none" : "unknown")),
         counted(domain.nodes.size(), "node"),
         domain.inside.empty() ? one_line_list(names_of(domain.nodes)) : std::string()});
    add_all(domain.inside, depth + 1);
  }

  void add_folded(Siblings domains, std::size_t depth) {
    std::vector<std::string> names;
    std::size_t least = domains.front().nodes.size();
    std::size_t most = 0;
    std::size_t all = 0;
    for (const Domain& domain : domains) {
      names.push_back(*domain.name);
      least = std::min(least, domain.nodes.size());
      most = std::max(most, domain.nodes.size());
      all += domain.nodes.size();
    }
    const std::string each =
        least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    lines_.push_back({label(domains.front(), depth, one_line_list(names)), counted(all, "node"),
                      fmt::format("{} × {}", domains.size(), each)});
  }

  std::string label(const Domain& domain, std::size_t depth, std::string_view name) const {
    return fmt::format("{}{} {}", std::string(2 * depth, ' '), placement_.levels[domain.level],
                       name);
  }

  const placement::Placement& placement_;
  bool fold_;
  std::vector<Line> lines_;
};

void write(JsonWriter& json, const placement::Placement& placement, Siblings domains) {
  json.list(
      domains,
      [&](const Domain& domain) {
        json.raw("{\"level\": ").text(placement.levels[domain.level]);
        json.raw(", \"name\": ").optional(domain.name.name());
        json.raw(", \"nodes\": ").number(domain.nodes.size());
        if (domain.inside.empty()) {
          json.raw(", \"hosts\": ").texts(names_of(domain.nodes));
        } else {
          json.raw(", \"domains\": ");
          write(json, placement, domain.inside);
        }
        json.raw("}");
      },
      ",\n  ");
}

}  // namespace

std::string one_line_list(const std::vector<std::string>& names) {
  constexpr std::size_t shown_bytes = 100;
  std::string list = hosts::compress_hostlist(names);
  if (list.size() <= shown_bytes) return list;
  const std::size_t comma = list.rfind(',', shown_bytes);
  return comma == std::string::npos ? list : list.substr(0, comma) + ",…";
}

std::vector<std::string> names_of(std::span<const placement::Node> nodes) {
  std::vector<std::string> names;
  for (const placement::Node& node : nodes) names.push_back(node.name);
  return names;
}

std::vector<Domain> outline(const placement::Placement& placement) {
  const Nodes nodes = placement.nodes;
  if (placement.levels.empty()) return {};
  return split_at(nodes.first(nodes.size() - placement.unplaced.size()), 0);
}

std::string outline_text(const placement::Placement& placement, bool fold) {
  return Text(placement, fold).run();
}

std::string outline_json(const placement::Placement& placement) {
  JsonWriter json;
  json.raw("{\"schema\": \"toprun.topo_show/1\",\n \"source\": ").text(placement.source);
  json.raw(",\n \"levels\": ").texts(placement.levels);
  json.raw(",\n \"nodes\": ").number(placement.nodes.size());
  json.raw(",\n \"domains\": ");
  write(json, placement, outline(placement));
  json.raw(",\n \"unplaced\": ").texts(placement.unplaced);
  json.raw(",\n \"warnings\": ").texts(placement.warnings).raw("}\n");
  return json.take();
}

}  // namespace toprun::report
