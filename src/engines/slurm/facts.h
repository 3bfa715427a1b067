#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"

namespace toprun::engines {

// Returns how long a Slurm program may take to answer: engine_timeout_of(), or the default if that
// returns an error.
std::chrono::milliseconds slurm_answer_limit(const Environment& environment);

// Identical nodes of one partition.
struct NodeKind {
  std::string partition;
  bool is_default = false;  // Slurm puts jobs without a partition option into this partition
  bool is_up = true;
  std::string time_limit;  // in Slurm's form: "infinite", "2-00:00:00"
  int nodes = 0;
  int cpus = 0;  // CPUs of each node, as Slurm counts them
  int gpus = 0;
  int memory_mib = 0;  // memory of each node, as Slurm counts it; 0: not reported

  bool operator==(const NodeKind&) const = default;
};

// Facts about the Slurm cluster that affect a job's options. Unknown facts are empty.
struct SlurmFacts {
  std::vector<NodeKind> kinds;
  std::string topology;             // the plugin: tree, block, flat, none, default …
  std::vector<int> leaf_nodes;      // tree: nodes below each leaf switch
  int block_nodes = 0;              // block: number of nodes in a base block
  std::int64_t max_array_size = 0;  // the greatest task number is one less; 0: unknown
  bool without_cluster = false;     // Slurm's programs are installed, but find no slurm.conf

  std::vector<std::string> partitions() const;
};

// Parses `sinfo` output with PARTITION|AVAIL|TIMELIMIT|NODES|CPUS|GRES|MEMORY per line. Lines in
// another form are skipped. Pure function.
std::vector<NodeKind> node_kinds_in(std::string_view sinfo);
// Returns the topology plugin's name in the output of `scontrol show config`, without "topology/";
// "" if missing. Pure function.
std::string topology_plugin_in(std::string_view config);
// Reads MaxArraySize from `scontrol show config` (slurm.conf(5)); 0: missing. Pure function.
std::int64_t max_array_size_in(std::string_view config);
// Returns "tree" or "block" according to the output of `scontrol show topology`, otherwise "".
// `scontrol show config` does not suffice: with a topology.yaml, it names only the default plugin
// (26.05: flat). Pure function.
std::string topology_kind_in(std::string_view topology);
// Returns the number of nodes below each leaf switch (SwitchName=… Level=0 … Nodes=…) in the output
// of `scontrol show topology`. Pure function.
std::vector<int> leaf_nodes_in(std::string_view topology);
// Returns the size of the smallest block (BlockName=… BlockSize=…) in the output of `scontrol show
// topology`, 0 if there is no block. Pure function.
int block_nodes_in(std::string_view topology);

// Returns the seconds in a time that sbatch accepts: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. nullopt:
// unlimited (zero too), or another form.
std::optional<std::int64_t> slurm_seconds(std::string_view text);

// Returns the number of GPUs in a request or in a node's resources: "gpu:h100:8(S:0-1),nic:2",
// "gpu:4" or "gpu". 0 if the text has no GPUs.
int gpus_in_gres(std::string_view gres);

// Queries sinfo and scontrol. If a query to Slurm fails or times out, the facts from this query
// stay empty, and `trouble` gets one line.
SlurmFacts ask_slurm(const Environment& environment, std::vector<std::string>& trouble);

}  // namespace toprun::engines
