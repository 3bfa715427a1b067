#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "topology/source.h"

namespace toprun::topology {

// Azure tells a machine nothing of the network around it; its InfiniBand's aggregation manager
// (SHARP) does, to a program of NVIDIA's on any of the machines.

// Where that program is: in PATH, in $HPCX_SHARP_DIR/bin (HPC-X' own variable), else below /opt as
// the drivers and HPC-X install it, the newest HPC-X. `root`: where /opt is.
std::optional<std::string> find_sharp_cmd(const Environment& environment,
                                          const std::filesystem::path& root = "/");

// What is run: `device` ("mlx5_ib0:1") is where the manager is reached, the files are those of the
// ports asked for (one GUID per line) and of the answer (ports.h).
std::vector<std::string> sharp_command(const std::string& program, const std::string& device,
                                       const std::string& guids_file,
                                       const std::string& topology_file);

// The members' places by the ports that they told of. Blocks for the request's budget at most.
// Error: no member told of a port, no sharp_cmd, whatever it complains of, a file that is none.
Result<std::optional<Map>> read_azure(const Request& request);

}  // namespace toprun::topology
