#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// GPUs that reach each other over NVLink, also across nodes. A domain is one clique (partition) in
// one cluster (an NVL72 rack).
struct NvlinkDomain {
  std::string cluster;  // a UUID
  std::uint32_t clique = 0;

  bool operator==(const NvlinkDomain&) const = default;
  // Returns "UUID.CLIQUE", the form of the label nvidia.com/gpu.clique.
  std::string name() const;
};

// Whether the node's GPUs can share an NVLink domain with GPUs on other nodes. If not, nvidia-smi
// cannot report a domain, so toprun does not start it. The GPUs can share such a domain if the
// driver has channels for memory exchange between nodes (IMEX). `root`: the folder that contains
// proc and dev.
bool may_have_nvlink_domain(const std::filesystem::path& root = "/");

// Returns the nvidia-smi command that prints a node's domain.
std::vector<std::string> nvlink_command();

// Parses a node's domain from the output of this command:
//   nvidia-smi --query-gpu=fabric.clusterUuid,fabric.cliqueId --format=csv,noheader
// The output has one line per GPU: "UUID, CLIQUE", or N/A for a GPU without a domain. nullopt: no
// GPU has a domain. Errors: GPUs have different domains (the message names both); a line has
// another form.
Result<std::optional<NvlinkDomain>> parse_nvlink_csv(std::string_view text);

// Builds a map with the level "nvlink" for the job's nodes that ran nvidia-smi. If a node's GPUs
// are in different domains, or the node's output is unreadable, the node is in no domain and a
// warning names it.
Result<std::optional<Map>> read_nvlink(const Request& request);

}  // namespace toprun::topology
