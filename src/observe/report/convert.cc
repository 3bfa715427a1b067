#include "observe/report/convert.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "base/json/json_text.h"
#include "base/net/hostlist.h"
#include "observe/report/outline.h"

namespace toprun::report {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string in_quotes(std::string_view text) {
  JsonWriter json;
  json.text(text);
  return json.take();
}

bool is_nvlink(const placement::Placement& placement, std::size_t level) {
  return placement.levels[level] == topology::nvlink_level;
}

// A switch in Slurm's form: with hosts or with other switches below it.
struct Switch {
  std::string name;
  std::vector<std::string> children;
  std::vector<std::string> nodes;
};

// The domains as switches, leaves first. NVLink domains are not switches: their content is
// connected to the domain around them.
class Switches {
 public:
  explicit Switches(const placement::Placement& placement) : placement_(placement) {
    add_inside(outline(placement), "", nullptr);
    left_out_.insert(left_out_.end(), placement.unplaced.begin(), placement.unplaced.end());
  }

  const std::vector<Switch>& all() const { return all_; }
  std::vector<std::string> left_out() const { return left_out_; }

 private:
  // Adds the content of `domains` below the switch `above`, if there is one.
  void add_inside(const std::vector<Domain>& domains, const std::string& around, Switch* above) {
    std::vector<std::string> direct;  // hosts directly below `above`
    for (const Domain& domain : domains) {
      const bool own = domain.name && !is_nvlink(placement_, domain.level);
      if (own) {
        const std::string name = add_switch(domain, around);
        if (above) above->children.push_back(name);
      } else if (!domain.inside.empty() && domain.name) {
        collect(domain, direct);
      } else if (above && (domain.name.is_none() || is_nvlink(placement_, domain.level))) {
        collect(domain, direct);
      } else {
        collect(domain, left_out_);
      }
    }
    if (direct.empty()) return;
    if (!above) {
      left_out_.insert(left_out_.end(), direct.begin(), direct.end());
    } else if (above->children.empty()) {
      above->nodes = std::move(direct);
    } else {
      // A Slurm switch cannot have both switches and hosts.
      all_.push_back({unique(above->name + "-hosts", around), {}, std::move(direct)});
      above->children.push_back(all_.back().name);
    }
  }

  static void collect(const Domain& domain, std::vector<std::string>& hosts) {
    std::ranges::move(names_of(domain.nodes), std::back_inserter(hosts));
  }

  std::string add_switch(const Domain& domain, const std::string& around) {
    Switch one{unique(*domain.name, around), {}, {}};
    if (!domain.inside.empty()) {
      add_inside(domain.inside, one.name, &one);
    } else if (innermost_switches_below(domain.level)) {
      collect(domain, left_out_);
    } else {
      one.nodes = names_of(domain.nodes);
    }
    const std::string name = one.name;
    if (!one.children.empty() || !one.nodes.empty()) all_.push_back(std::move(one));
    return name;
  }

  // Whether a host of this level should have an inner switch, which is unknown.
  bool innermost_switches_below(std::size_t level) const {
    for (std::size_t inner = level + 1; inner < placement_.levels.size(); ++inner) {
      if (!is_nvlink(placement_, inner)) return true;
    }
    return false;
  }

  // A unique name without characters that a host list cannot contain.
  std::string unique(std::string name, const std::string& around) {
    constexpr std::size_t longest = 64;  // Slurm's limit
    for (char& c : name) {
      if (!is_letter_or_digit(c) && c != '_' && c != '.') c = '-';
    }
    if (taken_.contains(name) && !around.empty()) name = around + "." + name;
    name = name.substr(0, longest);
    for (std::size_t i = 2; !taken_.insert(name).second; ++i) {
      name = fmt::format("{}-{}", name.substr(0, longest / 2), i);
    }
    return name;
  }

  const placement::Placement& placement_;
  std::vector<Switch> all_;
  std::set<std::string> taken_;
  std::vector<std::string> left_out_;
};

Converted topology_conf(const placement::Placement& placement) {
  const Switches switches(placement);
  Converted converted{{}, switches.left_out()};
  for (const Switch& one : switches.all()) {
    converted.text +=
        fmt::format("SwitchName={} {}={}\n", one.name, one.nodes.empty() ? "Switches" : "Nodes",
                    hosts::compress_hostlist(one.nodes.empty() ? one.children : one.nodes));
  }
  return converted;
}

// The NVLink domains and their hosts, in the placement's order.
std::vector<std::pair<std::string, std::vector<std::string>>> nvlink_domains(
    const placement::Placement& placement) {
  std::vector<std::pair<std::string, std::vector<std::string>>> domains;
  const auto level = std::ranges::find(placement.levels, topology::nvlink_level);
  if (level == placement.levels.end()) return domains;
  std::unordered_map<std::string, std::size_t> index;
  for (const placement::Node& node : placement.nodes) {
    const topology::Domain& domain =
        node.location.path[static_cast<std::size_t>(level - placement.levels.begin())];
    if (!domain) continue;
    const auto [found, is_new] = index.emplace(*domain, domains.size());
    if (is_new) domains.emplace_back(*domain, std::vector<std::string>{});
    domains[found->second].second.push_back(node.name);
  }
  return domains;
}

Converted topology_yaml(const placement::Placement& placement) {
  const Switches switches(placement);
  const auto blocks = nvlink_domains(placement);
  Converted converted{"---\n", switches.left_out()};
  std::string& out = converted.text;
  if (!switches.all().empty()) {
    out += "- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n";
    for (const Switch& one : switches.all()) {
      out += fmt::format(
          "    - switch: {}\n      {}: {}\n", in_quotes(one.name),
          one.nodes.empty() ? "children" : "nodes",
          in_quotes(hosts::compress_hostlist(one.nodes.empty() ? one.children : one.nodes)));
    }
  }
  if (blocks.empty()) return converted;
  std::set<std::string> in_blocks;
  for (const auto& [name, nodes] : blocks) in_blocks.insert(nodes.begin(), nodes.end());
  std::erase_if(converted.left_out, [&](const auto& host) { return in_blocks.contains(host); });
  std::size_t least = blocks.front().second.size();
  for (const auto& [name, nodes] : blocks) least = std::min(least, nodes.size());
  out += fmt::format(
      "- topology: nvlink\n  cluster_default: {}\n  block:\n    block_sizes: [{}]\n    blocks:\n",
      switches.all().empty(), least);
  for (const auto& [name, nodes] : blocks) {
    out += fmt::format("    - block: {}\n      nodes: {}\n", in_quotes(name),
                       in_quotes(hosts::compress_hostlist(nodes)));
  }
  return converted;
}

// FNV-1a; topograph uses it to shorten names that are too long for a label.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string label_value(const std::string& name) {
  constexpr std::size_t longest = 63;
  const bool plain = name.size() <= longest && is_letter_or_digit(name.front()) &&
                     is_letter_or_digit(name.back()) && std::ranges::all_of(name, [](char c) {
                       return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
                     });
  return plain ? name : fmt::format("x{:016x}", hash_of(name));
}

Converted labels(const placement::Placement& placement) {
  Converted converted{"apiVersion: v1\nkind: List\nitems:\n", {}};
  std::size_t switch_levels = 0;
  for (std::size_t level = 0; level < placement.levels.size(); ++level) {
    if (!is_nvlink(placement, level)) ++switch_levels;
  }
  for (const placement::Node& node : placement.nodes) {
    std::string text;
    std::size_t tier = switch_levels;
    for (std::size_t level = 0; level < placement.levels.size(); ++level) {
      const bool nvlink = is_nvlink(placement, level);
      if (!nvlink) --tier;
      const topology::Domain& domain = node.location.path[level];
      if (!domain || domain->empty()) continue;
      const std::string key = nvlink ? std::string("accelerator.topograph.run/domain")
                                     : fmt::format("fabric.topograph.run/tier-{}", tier);
      text += fmt::format("      {}: {}\n", key, in_quotes(label_value(*domain)));
    }
    if (text.empty()) {
      converted.left_out.push_back(node.name);
      continue;
    }
    converted.text +=
        fmt::format("- apiVersion: v1\n  kind: Node\n  metadata:\n    name: {}\n    labels:\n{}",
                    in_quotes(node.name), text);
  }
  return converted;
}

constexpr std::array forms = {
    NetworkForm{"topology.conf", "Slurm's topology/tree", topology_conf},
    NetworkForm{"topology.yaml", "Slurm's tree, and NVLink domains as blocks (25.05 and newer)",
                topology_yaml},
    NetworkForm{"labels", "Kubernetes' nodes with topograph's labels, for kubectl apply", labels},
};

}  // namespace

std::span<const NetworkForm> network_forms() {
  return forms;
}

}  // namespace toprun::report
