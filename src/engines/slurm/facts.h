#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

// How long a program of Slurm may take to answer: engine_timeout_of(), the default where that is an
// error.
std::chrono::milliseconds slurm_answer_limit(const Environment& environment);

// Nodes of one partition that are alike.
struct NodeKind {
  std::string partition;
  bool is_default = false;  // jobs that name no partition go there
  bool is_up = true;
  std::string time_limit;  // as Slurm writes it: "infinite", "2-00:00:00"
  int nodes = 0;
  int cpus = 0;  // of each, as Slurm counts them
  int gpus = 0;

  bool operator==(const NodeKind&) const = default;
};

// What Slurm tells of its cluster, as far as a job's options depend on it. What is not known is
// empty.
struct SlurmFacts {
  std::vector<NodeKind> kinds;
  std::string topology;         // the plugin: tree, block, flat, none, default …
  std::vector<int> leaf_nodes;  // tree: nodes below each leaf switch
  int block_nodes = 0;          // block: nodes of a base block

  std::vector<std::string> partitions() const;
};

// What `sinfo` prints in the form that facts are asked in:
// PARTITION|AVAIL|TIMELIMIT|NODES|CPUS|GRES per line. Lines that are not of this form are left out.
// Pure.
std::vector<NodeKind> node_kinds_in(std::string_view sinfo);
// The plugin's name in what `scontrol show config` prints, without "topology/"; "" if it is not
// there. Pure.
std::string topology_plugin_in(std::string_view config);
// tree or block, by the lines that `scontrol show topology` prints; "" without either. With a
// topology.yaml the configuration names no plugin but the default one (26.05: flat). Pure.
std::string topology_kind_in(std::string_view topology);
// The numbers of nodes below leaf switches (SwitchName=… Level=0 … Nodes=…) in what `scontrol show
// topology` prints, and that of the smallest block (BlockName=… BlockSize=…), 0 if there is none.
// Pure.
std::vector<int> leaf_nodes_in(std::string_view topology);
int block_nodes_in(std::string_view topology);

// Seconds of a time as sbatch takes it: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. nullopt: unlimited, as
// zero is, or nothing of these.
std::optional<std::int64_t> slurm_seconds(std::string_view text);

// The number of GPUs in a request or a node's list of resources, as "gpu:h100:8(S:0-1),nic:2",
// "gpu:4" or "gpu". 0 if it names none.
int gpus_in_gres(std::string_view gres);

// Asks sinfo and scontrol. What fails or does not answer leaves its facts out and one line in
// `trouble`.
SlurmFacts ask_slurm(const Environment& environment, std::vector<std::string>& trouble);

}  // namespace toprun::engines
