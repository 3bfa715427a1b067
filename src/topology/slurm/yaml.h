#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/source.h"

namespace toprun::topology {

// Which topologies of a topology.yaml are read.
struct TopologyChoice {
  std::optional<std::string> name = {};  // that of this name; unset: all
  bool only_default = false;             // of all only the one that partitions have by default
};

// Slurm's topology.yaml (man topology.yaml; 25.05 and newer), which is also what `scontrol show
// topoconf` prints:
//   - topology: racks
//     cluster_default: true
//     tree: {switches: [{switch: core, children: "s[0-1]"}, {switch: s0, nodes: "n[0-3]"}, …]}
//   - topology: domains
//     block: {block_sizes: [18, 36], blocks: [{block: b0, nodes: "n[0-17]"}, …]}
//   - topology: circles
//     ring: {rings: [{ring: r0, nodes: "n[0-7]"}]}
//   - topology: cube
//     torus3d: {toruses: [{name: t0, dims: {x: 4, y: 4, z: 4}, nodes: "n[0-63]"}]}, or in place of
//       nodes regions: [{anchor: {x: 0, y: 0, z: 0}, dims: {x: 2, y: 4, z: 4}, nodes: "n[0-31]"}]
//   - topology: plain
//     flat: true
// What several topologies tell becomes one tree (nest.h): an NVLink domain's block inside a leaf.
// Where two contradict each other, the first cluster_default goes first, else the first.
// `file` names the text in errors (file:line:column) and evidence. A flat topology gives a map
// without hosts. Unknown keys are warned of and ignored. Error: what parse_yaml() refuses, a value
// of another type, what map_of_switches(), map_of_blocks(), map_of_rings() and map_of_toruses()
// refuse.
Result<Map> parse_slurm_yaml(std::string_view text, const std::string& file,
                             const TopologyChoice& choice = {});

// The same, or where the document is a table Kubernetes' objects (k8s_file.h, which `members` are
// for) or our own form (plain_file.h).
Result<Map> parse_yaml_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members = {},
                            const TopologyChoice& choice = {});

// Reads the file as Slurm does.
Result<Map> read_slurm_yaml_file(const std::filesystem::path& path,
                                 const TopologyChoice& choice = {});

// Whether a line that is neither empty nor a comment is the first one of such a text.
bool looks_like_yaml(std::string_view line);

}  // namespace toprun::topology
