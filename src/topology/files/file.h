#pragma once

#include <optional>
#include <string>

#include "topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_topology_file_bytes = 128u << 20;  // a fabric of 25,000 nodes

// What --topology takes for a file: its path, and behind a colon the name of one of the topologies
// in a topology.yaml. A file of the whole text's name goes first.
struct TopologyFile {
  std::string path;
  std::optional<std::string> name;
};
TopologyFile topology_file(const std::string& topology);

// A file that the user names with --topology, "-" for standard input. Read once, so that it may be
// a pipe. A byte-order mark is skipped, and so are lines that stand before the first one of the
// file's form (file_format.h), with a warning.
// The map's source is "file PATH". Errors say file:line:column; what is no text is refused.
Result<std::optional<Map>> read_file_source(const Request& request);

}  // namespace toprun::topology
