#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "topology/source.h"

namespace toprun::topology {

// Slurm's topology.yaml (man topology.yaml; 25.05 and newer), which is also what `scontrol show
// topoconf` prints:
//   - topology: racks
//     cluster_default: true
//     tree: {switches: [{switch: core, children: "s[0-1]"}, {switch: s0, nodes: "n[0-3]"}, …]}
//   - topology: domains
//     block: {block_sizes: [18, 36], blocks: [{block: b0, nodes: "n[0-17]"}, …]}
//   - topology: plain
//     flat: true
// Of several topologies the first cluster_default is taken, else the first; a warning names it.
// `file` names the text in errors (file:line:column) and evidence. A flat topology gives a map
// without hosts. Unknown keys are warned of and ignored. Error: what parse_yaml() refuses, a value
// of another type, ring and torus3d (26.05) by name, what map_of_switches() and map_of_blocks()
// refuse.
Result<Map> parse_slurm_yaml(std::string_view text, const std::string& file);

// The same, or where the document is a table Kubernetes' objects (k8s_file.h, which `members` are
// for) or our own form (plain_file.h).
Result<Map> parse_yaml_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members = {});

// Reads the file as Slurm does.
Result<Map> read_slurm_yaml_file(const std::filesystem::path& path);

// Whether a line that is neither empty nor a comment is the first one of such a text.
bool looks_like_yaml(std::string_view line);

}  // namespace toprun::topology
