#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/source.h"

namespace toprun::topology {

inline constexpr int max_include_depth = 10;
inline constexpr int max_includes = 1000;            // of all files together
inline constexpr std::size_t max_links = 1'000'000;  // number of names in all Switches= together

// Returns the text of the file named in "Include PATH".
using IncludeReader = std::function<Result<std::string>(const std::string& path)>;

// Parses Slurm's topology.conf (man topology.conf; topology/tree and topology/block):
//   SwitchName=s0 Nodes=n[0-3] [LinkSpeed=…]
//   SwitchName=core Switches=s[0-3]
//   BlockName=b0 Nodes=n[0-17]
//   BlockSizes=18,36          planned sizes of blocks and of the groups of blocks above (24.05+)
//   RingName=r0 Nodes=n[0-7]  in the ring's order (26.05+)
// or the text of `scontrol show topology`, which has the same lines and more keys:
//   SwitchName=core Level=1 LinkSpeed=1 Nodes=<all below> Switches=s[0-3]     (up to 26.05)
//   BlockName=b0 BlockIndex=0 Nodes=n[0-3] BlockSize=4                        (23.11, 24.11)
//   AggregatedBlock=b[3,2] BlockIndex=4 Nodes=… BlockSize=8                   (24.11)
// `file` is the text's name in evidence and in errors (file:line:column). A text without any such
// line results in a map without hosts. Switches and blocks in one text are two topologies of the
// same hosts, which become one tree (nest.h). If the two topologies contradict each other, only the
// switches count, and there is a warning. Nodes=ALL means the hosts of the other lines and
// `known_hosts` (the job's hosts); Nodes=ALL is an error if there are no such hosts. TorusName=
// (26.05) is an error, because Slurm's output for it has too little information.
Result<Map> parse_slurm_conf(std::string_view text, const std::string& file,
                             const IncludeReader& include,
                             const std::vector<std::string>& known_hosts = {});

std::vector<std::string> names_of(const std::vector<Member>& members);

// Whether the first line that is neither empty nor a comment has the form of a line in a
// topology.conf.
bool looks_like_slurm_conf(std::string_view text);

// Reads included files. Relative paths start at the including file's folder, as in Slurm.
IncludeReader includes_below(const std::filesystem::path& folder);

// Reads topology.yaml (yaml.h) from the folder of the file in $SLURM_CONF, else from /etc/slurm. If
// topology.yaml does not exist, reads topology.conf from the same folder. If both exist, Slurm too
// ignores topology.conf. nullopt: neither file exists.
Result<std::optional<Map>> read_slurm_conf(const Request& request);

// Parses the output of `scontrol show topology` (format: conf.h). A text without switches and
// blocks ("No topology information available", a flat network) results in a map without hosts.
Result<Map> parse_scontrol_topology(std::string_view text);

// Runs `scontrol show topology`; nullopt if Slurm has no topology. Blocks for at most
// request.budget.
Result<std::optional<Map>> read_scontrol_topology(const Request& request);

}  // namespace toprun::topology
