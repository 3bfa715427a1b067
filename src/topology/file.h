#pragma once

#include <string>
#include <string_view>

#include "topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_topology_file_bytes = 128u << 20;  // a fabric of 25,000 nodes

// A file that the user names with --topology. Its form is told by its name's end where that says
// it (.toml, .json, .yaml, .yml), else by its first line:
//   topology.conf  begins with SwitchName=, BlockName= … (slurm_conf.h); the saved output of
//                  `scontrol show topology` too, and what `sharp_cmd topology` writes (ports.h)
//   ibnetdiscover  begins with vendid=0x… (ibnetdiscover.h)
//   AWS            a JSON object with "Instances" (aws.h)
//   JSON           begins with { or [ (json_file.h)
//   YAML           begins with "---", "- …", hosts: …: a list is Slurm's topology.yaml or the
//                  output of `scontrol show topoconf` (slurm_yaml.h), a table our own
//                  (plain_file.h)
//   TOML           begins with [NAME] or KEY = … (toml_file.h)
//   lines          anything else: "HOST /cluster/rack/HOST" (lines_file.h)
enum class FileFormat { slurm_conf, ibnetdiscover, aws, json, yaml, toml, lines };
FileFormat detect_format(std::string_view path, std::string_view text);

// The map's source is "file PATH". Errors say file:line:column; what is no text is refused.
Result<std::optional<Map>> read_file_source(const Request& request);

}  // namespace toprun::topology
