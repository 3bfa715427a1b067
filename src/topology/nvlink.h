#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

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

// A node's domain from the output of
//   nvidia-smi --query-gpu=fabric.clusterUuid,fabric.cliqueId --format=csv,noheader
// which has a line per GPU: "UUID, CLIQUE", or N/A for a GPU that is in none. nullopt: no GPU is in
// one. Error: GPUs that disagree (both are named), any other line.
Result<std::optional<NvlinkDomain>> parse_nvlink_csv(std::string_view text);

}  // namespace toprun::topology
