#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "topology/source.h"

namespace toprun::topology {

// GPUs that reach each other over NVLink, across nodes too: one clique (partition) of one cluster
// (an NVL72 rack).
struct NvlinkDomain {
  std::string cluster;  // a UUID
  std::uint32_t clique = 0;

  bool operator==(const NvlinkDomain&) const = default;
  // "UUID.CLIQUE", as the label nvidia.com/gpu.clique has it.
  std::string name() const;
};

// Whether the node's GPUs may be in one with other nodes' GPUs, so that nvidia-smi is worth
// starting: the driver has channels for the exchange of memory between nodes (IMEX). `root`: where
// /proc and /dev are.
bool may_have_nvlink_domain(const std::filesystem::path& root = "/");

// What is run on such a node.
std::vector<std::string> nvlink_command();

// A node's domain from the output of
//   nvidia-smi --query-gpu=fabric.clusterUuid,fabric.cliqueId --format=csv,noheader
// which has a line per GPU: "UUID, CLIQUE", or N/A for a GPU that is in none. nullopt: no GPU is in
// one. Error: GPUs that disagree (both are named), any other line.
Result<std::optional<NvlinkDomain>> parse_nvlink_csv(std::string_view text);

// The level "nvlink" of the members where nvidia-smi was asked. A node whose GPUs disagree, or
// whose answer cannot be read, is named in a warning and in no domain.
Result<std::optional<Map>> read_nvlink(const Request& request);

}  // namespace toprun::topology
