#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// The formats of a topology file, each with the text by which it is recognised:
//   topology.conf  SwitchName=, BlockName= … (slurm/conf.h); the saved output of `scontrol show
//                  topology`; the output file of `sharp_cmd topology` (ports.h)
//   ibnetdiscover  vendid=0x…, Switch 65 "S-…" (ibnetdiscover.h), also with -g, -f or -p
//   AWS            a JSON object with "Instances"
//   JSON           { or [
//   YAML           "---", "- topology: …", hosts: …: a list is Slurm's topology.yaml or the output
//                  of `scontrol show topoconf` (slurm/yaml.h); a table is our own form or
//                  contains Kubernetes objects
//   azslurm        "Switch 5 (root)", "block 1 : # of Nodes = 18"
//   TOML           [NAME] or KEY = …
//   lines          "HOST /cluster/rack/HOST"
enum class FileFormat { slurm_conf, azslurm, ibnetdiscover, aws, json, yaml, toml, lines };

// recognise() searches for a line in a known format only up to this offset.
inline constexpr std::size_t max_preamble_bytes = 64u << 10;

struct Recognised {
  FileFormat format = FileFormat::lines;
  std::size_t start = 0;  // offset of the first line in that format; comments may come before it
};

// Recognises the format by the end of the file's name (.toml, .json, .yaml, .yml). For another
// name, the first line in a known format decides. Other lines may come before it, such as a prompt
// in a terminal log. A text without such a line has the format `lines`.
Recognised recognise(std::string_view path, std::string_view text);

// Recognises output of other programs that does not show the network's structure: a list of nodes
// without cables, the devices inside one host, … The error says what the text is, and which file
// the user should give instead. nullopt: not recognised. `file` is the text's name.
std::optional<Error> unusable_output(std::string_view file, std::string_view text);

inline constexpr std::size_t max_topology_file_bytes = 128u << 20;  // enough for a fabric of 25,000
                                                                    // nodes

// The argument of --topology for a file: the path, optionally with a colon and the name of one
// topology in a topology.yaml. If a file exists whose name is the whole argument, including the
// colon, that file is read.
struct TopologyFile {
  std::string path;
  std::optional<std::string> name;
};
TopologyFile topology_file(const std::string& topology);

// Reads a file that the user names with --topology, "-" for standard input. The file is read once,
// so it may be a pipe. A byte-order mark is skipped. Lines before the first line in the file's
// format are skipped with a warning. The map's source is "file PATH". Errors contain
// file:line:column; a binary file is an error.
Result<std::optional<Map>> read_file_source(const Request& request);

}  // namespace toprun::topology
