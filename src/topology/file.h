#pragma once

#include <string>
#include <string_view>

#include "topology/source.h"

namespace toprun::topology {

// A file that the user names with --topology. Its form is told by its content:
//   topology.conf  its first line begins with SwitchName=, BlockName= … (slurm_conf.h); the saved
//                  output of `scontrol show topology` too
//   TOML           its name ends in .toml, or its first line is "[…" or "KEY = …" (toml_file.h)
//   AWS            a JSON object with "Instances" (aws.h)
//   lines          anything else: "HOST /cluster/rack/HOST" (lines_file.h)
enum class FileFormat { slurm_conf, toml, aws, lines };
FileFormat detect_format(std::string_view path, std::string_view text);

// The map's source is "file PATH". Errors say file:line:column.
Result<std::optional<Map>> read_file_source(const Request& request);

}  // namespace toprun::topology
