#pragma once

#include <optional>
#include <string>

#include "decide/topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_topology_file_bytes = 128u << 20;  // enough for a fabric of 25,000
                                                                    // nodes

// The argument of --topology for a file: the path, optionally with a colon and the name of one
// topology in a topology.yaml. If a file has the whole text as its name, that file is read.
struct TopologyFile {
  std::string path;
  std::optional<std::string> name;
};
TopologyFile topology_file(const std::string& topology);

// Reads a file that the user names with --topology, "-" for standard input. The file is read once,
// so it may be a pipe. A byte-order mark is skipped. Lines before the first line of the file's
// format (file_format.h) are also skipped, with a warning. The map's source is "file PATH". Errors
// contain file:line:column; a binary file is an error.
Result<std::optional<Map>> read_file_source(const Request& request);

}  // namespace toprun::topology
