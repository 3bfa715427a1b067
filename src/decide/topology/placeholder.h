#pragma once

#include <string_view>

namespace toprun::topology {

// Whether a domain's name means that there is no domain, or that the domain is unknown. All sources
// use the same list of such names, because tools convert between the formats: labels to JSON, JSON
// to a topology.conf. Case is ignored, as is a pair of brackets around the word. Placeholders are:
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
