#include "decide/topology/slurm/conf.h"

#include <algorithm>
#include <unordered_set>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "decide/topology/nest.h"
#include "decide/topology/position.h"
#include "decide/topology/slurm/lines.h"
#include "decide/topology/slurm/switch_tree.h"
#include "decide/topology/slurm/yaml.h"
#include "decide/topology/torus.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> conf_keys = {
    "switchname", "switches",  "nodes",           "linkspeed",  "level",       "blockname",
    "blockindex", "blocksize", "aggregatedblock", "blocksizes", "blocklevels", "ringname",
    "torusname",  "dims",      "placementdims",   "anchors"};

using Pair = SlurmLine::Pair;

class ConfReader {
 public:
  ConfReader(const IncludeReader& include, const std::vector<std::string>& known_hosts)
      : include_(include), known_hosts_(known_hosts) {}

  Result<void> read(std::string_view text, const std::string& file, int depth) {
    const auto lines = TRY(parse_slurm_lines(text, file));
    for (const SlurmLine& line : lines) {
      TRY(line.include().empty() ? take(line, file) : take_include(line, file, depth));
    }
    return {};
  }

  Result<Map> finish(const std::string& source) {
    TRY(name_all_hosts());
    if (!rings_.empty()) return with_warnings(map_of_rings(source, rings_));
    if (blocks_.empty() && switches_.empty()) return Map{};
    if (blocks_.empty()) return with_warnings(map_of_switches(source, switches_));
    auto blocks = read_blocks(source);
    if (!blocks || switches_.empty()) return with_warnings(std::move(blocks));
    auto switches = map_of_switches(source, switches_);
    if (!switches) return switches;
    return with_warnings(both(*std::move(switches), *std::move(blocks)));
  }

 private:
  static std::unexpected<Error> refuse(const std::string& file, const SlurmLine& line,
                                       std::size_t offset, std::string why, std::string fix = {}) {
    return usage(at(file, line.where(offset)), std::move(why), std::move(fix));
  }

  Result<Map> read_blocks(const std::string& source) {
    std::ranges::move(groups_of_sizes(blocks_, sizes_, sizes_where_), std::back_inserter(groups_));
    return map_of_blocks(source, blocks_, groups_, sizes_.empty() ? 0 : std::ranges::min(sizes_));
  }

  // Slurm reads the lines of the plugin that it uses; a file with both kinds means both.
  static Map both(Map switches, Map blocks) {
    const std::string source = switches.source;
    switches.source = "its switches";
    blocks.source = "its blocks";
    const Map first = switches;
    auto nested = nest(std::move(switches), std::move(blocks));
    Map map = nested ? *std::move(nested) : first;
    if (!nested) {
      map.warnings.push_back(fmt::format("{}: {}: {}; the switches are used", source,
                                         nested.error()->what, nested.error()->why));
    }
    map.source = source;
    return map;
  }

  // Slurm's word for all nodes of the cluster: those of the job, and those in the other lines.
  Result<void> name_all_hosts() {
    if (everywhere_.empty()) return {};
    std::vector<std::string> all;
    std::unordered_set<std::string_view> seen;
    const auto add = [&](const std::vector<std::string>& names) {
      for (const std::string& name : names) {
        if (seen.insert(name).second) all.push_back(name);
      }
    };
    for (const Switch& one : switches_) add(one.nodes);
    for (const Block& one : blocks_) add(one.nodes);
    for (const Ring& one : rings_) add(one.nodes);
    add(known_hosts_);
    if (all.empty()) {
      return usage(everywhere_.front().where,
                   "Nodes=ALL stands for all hosts, but this command has no list of hosts",
                   "pass the file to a launch, because a launch has a list of hosts; or write the "
                   "names of the nodes");
    }
    for (const Everywhere& one : everywhere_) {
      if (one.of_switches) switches_[one.index].nodes = all;
      if (!one.of_switches) blocks_[one.index].nodes = all;
    }
    return {};
  }

  Result<void> take_include(const SlurmLine& line, const std::string& file, int depth) {
    if (depth == max_include_depth || ++includes_ > max_includes) {
      return refuse(file, line, 0,
                    fmt::format("the file has more than {} levels of Include lines, or more than "
                                "{} Include lines in all",
                                max_include_depth, max_includes),
                    "does a file include itself?");
    }
    const auto text = include_(line.include());
    if (!text) return refuse(file, line, 0, text.error().line());
    return read(*text, line.include(), depth + 1);
  }

  Result<void> take(const SlurmLine& line, const std::string& file) {
    bool any_known = false;
    for (const Pair& pair : line.pairs()) {
      if (std::ranges::find(conf_keys, pair.key) != conf_keys.end()) {
        any_known = true;
      } else {
        unknown_.add([&] {
          const auto meant = did_you_mean(pair.key, conf_keys);
          return fmt::format("{}: unknown key {} is ignored{}",
                             at(file, line.where(pair.key_offset)), pair.key,
                             meant ? fmt::format("; did you mean {}?", *meant) : "");
        });
      }
    }
    if (!any_known) return {};
    if (const Pair* name = line.find("switchname")) return take_switch(line, file, *name);
    if (const Pair* name = line.find("blockname")) return take_block(line, file, *name);
    if (const Pair* name = line.find("aggregatedblock")) return take_group(line, file, *name);
    if (const Pair* name = line.find("ringname")) return take_ring(line, file, *name);
    if (const Pair* name = line.find("torusname")) return take_torus(line, file, *name);
    if (const Pair* sizes = line.find("blocksizes")) return take_sizes(line, file, *sizes);
    // only in 23.11: sizes relative to a size that Slurm does not print
    if (line.find("blocklevels")) return {};
    return refuse(file, line, line.pairs().front().key_offset,
                  "the line does not name a switch or a block", "see man topology.conf");
  }

  static bool is_all(const Pair* list) { return list && lower(list->value) == "all"; }

  // The hosts or switches in a value; `budget` is the number of names that the whole text may still
  // add.
  Result<std::vector<std::string>> names(const SlurmLine& line, const std::string& file,
                                         const Pair* list, std::size_t& budget) {
    if (!list || list->value == "(null)") return std::vector<std::string>{};
    auto hosts = hosts::parse_hostlist(list->value, budget);
    if (!hosts) {
      return refuse(file, line, list->value_offset + hosts.error().column - 1, hosts.error().why,
                    hosts.error().fix);
    }
    budget -= hosts->size();
    return *std::move(hosts);
  }

  Result<void> check_name(const SlurmLine& line, const std::string& file, const Pair& name) {
    if (name.value.empty() || name.value.find_first_of("[],{}") != std::string::npos) {
      return refuse(file, line, name.value_offset,
                    fmt::format("'{}' is not the name of a single switch or block", name.value),
                    "write a line for each switch or block");
    }
    return {};
  }

  static std::optional<std::size_t> parse_level(std::string_view text) {
    const auto level = parse_int(text);
    if (!level || *level < 0 || *level >= static_cast<std::int64_t>(max_levels)) return {};
    return static_cast<std::size_t>(*level);
  }

  Result<void> take_switch(const SlurmLine& line, const std::string& file, const Pair& name) {
    if (auto checked = check_name(line, file, name); !checked) return checked;
    const Pair* nodes_value = line.find("nodes");
    const Pair* children_value = line.find("switches");
    // For a switch with children, scontrol also lists all nodes below it. In topology.conf, Slurm
    // ignores the children of a line with both keys.
    if (nodes_value && children_value) {
      if (line.find("level")) {
        nodes_value = nullptr;
      } else {
        children_value = nullptr;
        both_.add([&] {
          return fmt::format(
              "{} (switch {}): the switch has nodes, so toprun ignores its Switches, as Slurm does",
              at_line(file, line.where(0).line), name.value);
        });
      }
    }
    const bool all = is_all(nodes_value);
    if (all) everywhere_.push_back({true, switches_.size(), at(file, line.where(name.key_offset))});
    auto nodes = TRY(names(line, file, all ? nullptr : nodes_value, nodes_left_));
    auto children = TRY(names(line, file, children_value, links_left_));
    if (!all && nodes.empty() && children.empty()) {
      neither_.add([&] {
        return fmt::format("{} (switch {}): the switch has neither nodes nor switches",
                           at_line(file, line.where(0).line), name.value);
      });
    }
    const Pair* level = line.find("level");
    switches_.push_back({name.value, std::move(nodes), std::move(children),
                         at(file, line.where(name.key_offset)),
                         at_line(file, line.where(name.key_offset).line),
                         level ? parse_level(level->value) : std::nullopt});
    return {};
  }

  Result<void> take_block(const SlurmLine& line, const std::string& file, const Pair& name) {
    if (auto checked = check_name(line, file, name); !checked) return checked;
    const Pair* value = line.find("nodes");
    const bool all = is_all(value);
    if (all) everywhere_.push_back({false, blocks_.size(), at(file, line.where(name.key_offset))});
    auto nodes = TRY(names(line, file, all ? nullptr : value, nodes_left_));
    blocks_.push_back({name.value, std::move(nodes), at(file, line.where(name.key_offset)),
                       at_line(file, line.where(name.key_offset).line)});
    return {};
  }

  Result<void> take_ring(const SlurmLine& line, const std::string& file, const Pair& name) {
    if (auto checked = check_name(line, file, name); !checked) return checked;
    auto nodes = TRY(names(line, file, line.find("nodes"), nodes_left_));
    rings_.push_back({name.value, std::move(nodes), at(file, line.where(name.key_offset)),
                      at_line(file, line.where(name.key_offset).line)});
    return {};
  }

  // scontrol lists the nodes of a torus without their coordinates.
  Result<void> take_torus(const SlurmLine& line, const std::string& file, const Pair& name) {
    return refuse(
        file, line, name.key_offset,
        fmt::format("this line does not give the nodes' positions in torus {}", name.value),
        "give topology.yaml, or the output of `scontrol show topoconf`");
  }

  Result<void> take_group(const SlurmLine& line, const std::string& file, const Pair& list) {
    auto blocks = TRY(names(line, file, &list, links_left_));
    const Pair* size = line.find("blocksize");
    const auto nodes = size ? parse_int(size->value) : std::nullopt;
    if (!nodes || *nodes < 1) {
      return refuse(file, line, size ? size->value_offset : list.key_offset,
                    "AggregatedBlock needs BlockSize=N, with N of at least 1");
    }
    groups_.push_back({static_cast<std::size_t>(*nodes), std::move(blocks),
                       at(file, line.where(list.key_offset))});
    return {};
  }

  Result<void> take_sizes(const SlurmLine& line, const std::string& file, const Pair& list) {
    std::size_t offset = list.value_offset;
    sizes_where_ = at(file, line.where(list.key_offset));
    for (const std::string_view text : split(list.value, ',')) {
      const auto size = parse_int(text);
      if (!size || *size < 1 || sizes_.size() == max_levels) {
        return refuse(file, line, offset,
                      fmt::format("BlockSizes needs 1 to {} numbers of at least 1", max_levels),
                      "as in BlockSizes=18,36,72");
      }
      sizes_.push_back(static_cast<std::size_t>(*size));
      offset += text.size() + 1;
    }
    return {};
  }

  Result<Map> with_warnings(Result<Map> map) {
    if (!map) return map;
    for (const Tally* tally : {&both_, &neither_}) tally->warn(map->warnings, "lines");
    unknown_.warn(map->warnings, "keys");
    return map;
  }

  // A line with Nodes=ALL.
  struct Everywhere {
    bool of_switches;  // else of blocks
    std::size_t index;
    std::string where;
  };

  const IncludeReader& include_;
  const std::vector<std::string>& known_hosts_;
  std::vector<Everywhere> everywhere_;
  std::vector<Switch> switches_;
  std::vector<Block> blocks_;
  std::vector<BlockGroup> groups_;
  std::vector<Ring> rings_;
  std::vector<std::size_t> sizes_;
  std::string sizes_where_;
  Tally both_, neither_;
  Tally unknown_;  // keys
  int includes_ = 0;
  std::size_t nodes_left_ = hosts::max_hosts;
  std::size_t links_left_ = max_links;
};

Result<Map> read_slurm_conf_file(const fs::path& path,
                                 const std::vector<std::string>& known_hosts) {
  const auto text = TRY(read_file(path));
  return parse_slurm_conf(text, path.string(), includes_below(path.parent_path()), known_hosts);
}

constexpr std::string_view scontrol_command_text = "scontrol show topology";

}  // namespace

Result<Map> parse_slurm_conf(std::string_view text, const std::string& file,
                             const IncludeReader& include,
                             const std::vector<std::string>& known_hosts) {
  ConfReader reader(include, known_hosts);
  TRY(reader.read(text, file, 0));
  return reader.finish(file);
}

std::vector<std::string> names_of(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.name);
  return names;
}

bool looks_like_slurm_conf(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#')) continue;
    const std::string key = lower(trim(content.substr(0, content.find('='))));
    if (key.starts_with("include ") || key.starts_with("include\t")) return true;
    return std::ranges::find(conf_keys, key) != conf_keys.end() && key != "nodes" &&
           key != "level" && key != "dims" && key != "anchors";
  }
  return false;
}

IncludeReader includes_below(const fs::path& folder) {
  return [folder](const std::string& name) { return read_file(folder / name); };
}

Result<std::optional<Map>> read_slurm_conf(const Request& request) {
  const auto slurm_conf = request.environment.non_empty("SLURM_CONF");
  const fs::path folder = slurm_conf ? fs::path(*slurm_conf).parent_path() : "/etc/slurm";
  std::error_code ignored;
  const bool yaml = fs::exists(folder / "topology.yaml", ignored);
  if (!yaml && !fs::exists(folder / "topology.conf", ignored)) return std::nullopt;
  // Slurm gives each node its place in the default topology.
  const bool reported = std::ranges::any_of(
      request.members, [](const Member& member) { return !member.address.empty(); });
  const std::vector<std::string> known_hosts = names_of(request.members);
  auto map = TRY(
      yaml ? read_slurm_yaml_file(folder / "topology.yaml", {.only_default = reported}, known_hosts)
           : read_slurm_conf_file(folder / "topology.conf", known_hosts));
  if (map.hosts.empty()) return std::nullopt;
  map.source = "slurm";
  return std::move(map);
}

Result<Map> parse_scontrol_topology(std::string_view text) {
  if (!looks_like_slurm_conf(text)) {
    // A sentence without records: scontrol prints it if there is no topology to show.
    if (text.find('=') == std::string_view::npos) return Map{};
    return fail(fmt::format("cannot read the output of `{}`", scontrol_command_text),
                fmt::format("its first line is '{}'", trim(text.substr(0, text.find('\n')))),
                "give a file with --topology");
  }
  const auto no_include = [](const std::string&) -> Result<std::string> {
    return fail("the output of scontrol contains Include lines, which toprun cannot follow");
  };
  auto map = parse_slurm_conf(text, std::string(scontrol_command_text), no_include);
  if (map) map->source = "slurm";
  return map;
}

Result<std::optional<Map>> read_scontrol_topology(const Request& request) {
  Environment environment = request.environment;
  environment.unset("SLURM_TOPO_LEN");  // it limits the length of every line
  const auto text =
      TRY(process::output_of({"scontrol", "show", "topology"}, environment, request.budget));
  auto map = TRY(parse_scontrol_topology(text));
  if (map.hosts.empty()) return std::nullopt;
  return std::move(map);
}

}  // namespace toprun::topology
