#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::topology {

// Parses "/cluster/rack" as a path, outermost domain first. An empty component is an unknown level;
// "-" is a level that the host does not have. The error string says what is wrong with the text.
std::expected<Path, std::string> parse_domains(std::string_view text);

// Parses Google Cloud's physical_host, "/cluster/rack/host": the form of parse_domains() with the
// host's own id at the end, which is dropped.
std::expected<Path, std::string> parse_physical_host(std::string_view text);

// Returns the host's own id, the last part of a physical_host.
std::string_view own_id(std::string_view text);

// Parses the places in one text; the text must outlive this object. Hosts in the same rack share
// one path in memory, which is parsed only once.
class PlaceTexts {
 public:
  std::expected<Path, std::string> domains(std::string_view text);        // as parse_domains
  std::expected<Path, std::string> physical_host(std::string_view text);  // as parse_physical_host

 private:
  std::unordered_map<std::string_view, Path> paths_;  // by the text of the domains only
};

// Returns names for `count` levels above a host, for a source without level names: "rack" for 1;
// "cluster", "rack" for 2; …
std::vector<std::string> physical_level_names(std::size_t count);

// Whether a domain's name means that there is no domain, or that the domain is unknown. All sources
// of topology use the same list of such names, because tools convert one format into another:
// labels to JSON, JSON to a topology.conf. Case is ignored, as is a pair of brackets around the
// word. Placeholders are:
//   "", "-": empty fields
//   none, null, nil, no value, nothing: from JSON, Python, Go templates and kubectl
//   unknown, undefined, unset: from sites' scripts
//   n/a, not supported, not available, unavailable: from nvidia-smi and the clouds' CLIs
//   no-imds-data: from OKE's labeller, if the metadata service had no data
//   no-topology: from NVIDIA's topograph, for nodes without a place from its provider
//   00000000-0000-0000-0000-000000000000, also with ".CLIQUE" at the end: from NVML, for GPUs
//     without a fabric; also 0x0 and other zeros of at least 16 digits
bool is_placeholder(std::string_view name);

}  // namespace toprun::topology
