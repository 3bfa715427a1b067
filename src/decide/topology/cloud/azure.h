#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// Azure does not tell a machine where it is in the network. But its InfiniBand network has a SHARP
// aggregation manager, which knows the network's topology. NVIDIA's program sharp_cmd can query
// this manager from any machine.

// Finds sharp_cmd in PATH, else in $HPCX_SHARP_DIR/bin (HPC-X' own variable), else below /opt. The
// drivers and HPC-X install sharp_cmd below /opt; if there are several versions of HPC-X, returns
// the newest. `root`: the folder that contains opt.
std::optional<std::string> find_sharp_cmd(const Environment& environment,
                                          const std::filesystem::path& root = "/");

// Returns sharp_cmd's command line. `device` ("mlx5_ib0:1") is the port for the connection to the
// manager. The file `guids_file` contains the requested ports (one GUID per line). The program
// sharp_cmd writes its answer into `topology_file` (ports.h).
std::vector<std::string> sharp_command(const std::string& program, const std::string& device,
                                       const std::string& guids_file,
                                       const std::string& topology_file);

// Builds a map of the job's nodes (request.members) from the ports that they reported. Blocks for
// at most request.budget. Errors: no node reported a port, sharp_cmd is missing or fails, its
// output file is invalid.
Result<std::optional<Map>> read_azure(const Request& request);

}  // namespace toprun::topology
