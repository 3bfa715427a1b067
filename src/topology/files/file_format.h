#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace toprun::topology {

// The forms that a topology file may have:
//   topology.conf  SwitchName=, BlockName= … (slurm/conf.h); the saved output of `scontrol show
//                  topology` too, and what `sharp_cmd topology` writes (ports.h)
//   ibnetdiscover  vendid=0x…, Switch 65 "S-…" (ibnetdiscover.h), also with -g, -f or -p
//   AWS            a JSON object with "Instances" (aws.h)
//   JSON           { or [ (json_file.h)
//   YAML           "---", "- topology: …", hosts: …: a list is Slurm's topology.yaml or the output
//                  of `scontrol show topoconf` (slurm/yaml.h), a table our own (plain_file.h) or
//                  objects of Kubernetes (k8s_file.h)
//   TOML           [NAME] or KEY = … (toml_file.h)
//   lines          "HOST /cluster/rack/HOST" (lines_file.h)
enum class FileFormat { slurm_conf, ibnetdiscover, aws, json, yaml, toml, lines };

// How far into a text its first line of a known form is looked for.
inline constexpr std::size_t max_preamble_bytes = 64u << 10;

struct Recognised {
  FileFormat format = FileFormat::lines;
  std::size_t start = 0;  // where the first line of that form begins; comments may stand before it
};

// The name's end tells where it says it (.toml, .json, .yaml, .yml), else the first line that has
// the look of a form: a terminal's log begins with a prompt, and errors of the program that wrote
// the rest may come first. A text without any such line is taken for lines.
Recognised recognise(std::string_view path, std::string_view text);

// A message for output of other programs that does not determine an order: what the text is (a list
// of nodes without cables, the devices of one host, …) and what to give instead. nullopt: the text
// is not recognised. `file` is its name.
std::optional<Error> known_but_useless(std::string_view file, std::string_view text);

}  // namespace toprun::topology
