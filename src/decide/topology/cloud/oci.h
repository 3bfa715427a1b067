#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// Parses Oracle Cloud's rdmaTopologyData (instance metadata v2, path host/rdmaTopologyData): a JSON
// object with customerHPCIslandId > customerNetworkBlock > customerLocalBlock. Innermost is the
// NVLink domain customerGpuMemoryFabric. A key that is missing, null or "" is an unknown level;
// other keys (customerHostId …) are ignored. Error: what is wrong with the text.
using OciPlace = std::array<std::optional<std::string>, 4>;  // the levels above, in this order
std::expected<OciPlace, std::string> parse_oci_rdma_topology(std::string_view text);

Question oci_question();

// Builds a map of the members from their answers. The levels are hpc-island, network-block,
// local-block, and nvlink if any member has an NVLink domain. A malformed answer is ignored with a
// warning. The map has no hosts if all places are unknown.
Result<std::optional<Map>> read_oci(const Request& request);

}  // namespace toprun::topology
