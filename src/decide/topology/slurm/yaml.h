#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/source.h"

namespace toprun::topology {

// Selects which of the topologies in a topology.yaml are read.
struct TopologyChoice {
  std::optional<std::string> name = {};  // the topology with this name; unset: all
  bool only_default = false;             // only the default topology of partitions
};

// Parses Slurm's topology.yaml (man topology.yaml; 25.05 and newer), which is also what `scontrol
// show topoconf` prints:
//   - topology: racks
//     cluster_default: true
//     tree: {switches: [{switch: core, children: "s[0-1]"}, {switch: s0, nodes: "n[0-3]"}, …]}
//   - topology: domains
//     block: {block_sizes: [18, 36], blocks: [{block: b0, nodes: "n[0-17]"}, …]}
//   - topology: circles
//     ring: {rings: [{ring: r0, nodes: "n[0-7]"}]}
//   - topology: cube
//     torus3d: {toruses: [{name: t0, dims: {x: 4, y: 4, z: 4}, nodes: "n[0-63]"}]}, or instead of
//       nodes regions: [{anchor: {x: 0, y: 0, z: 0}, dims: {x: 2, y: 4, z: 4}, nodes: "n[0-31]"}]
//   - topology: plain
//     flat: true
// Several topologies are combined into one tree (nest.h): the block of an NVLink domain goes inside
// a leaf. Names of blocks and switches are valid only within their topology. If two topologies have
// a block1, the two blocks are one domain only if a host is in both. Otherwise the block of the
// later topology is named TOPOLOGY:block1. The value ALL of `nodes` stands for the job's hosts
// (`known_hosts`). If a topology contradicts the topologies before it, it is left out with a
// warning. In this order, the first topology with cluster_default comes before all others.
// Otherwise the order is that of the file. `file` is the text's name in evidence and errors
// (file:line:column). A flat topology results in a map without hosts. Unknown keys are ignored with
// a warning. Errors: those of parse_yaml(), map_of_switches(), map_of_blocks(), map_of_rings() and
// map_of_toruses(); a value of a wrong type.
Result<Map> parse_slurm_yaml(std::string_view text, const std::string& file,
                             const TopologyChoice& choice = {},
                             const std::vector<std::string>& known_hosts = {});

// Like parse_slurm_yaml(), for any YAML file. If the document is a table, it contains Kubernetes
// objects (which use `members`) or our own form (formats.h).
Result<Map> parse_yaml_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members = {},
                            const TopologyChoice& choice = {});

// Reads and parses a topology.yaml.
Result<Map> read_slurm_yaml_file(const std::filesystem::path& path,
                                 const TopologyChoice& choice = {},
                                 const std::vector<std::string>& known_hosts = {});

// Whether `line`, which is neither empty nor a comment, can be the first line of a topology.yaml.
bool looks_like_yaml(std::string_view line);

}  // namespace toprun::topology
