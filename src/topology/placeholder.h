#pragma once

#include <string_view>

namespace toprun::topology {

// Whether a domain's name says that there is none or that nobody knows it. One list for all
// sources, because their files become each other's: labels are exported as JSON, JSON as a
// topology.conf. Letters count in either case, a pair of brackets around the word does not.
//   "", "-"                          fields left empty
//   none, null, nil, no value        texts that JSON, Python, Go's templates and kubectl make of
//   nothing unknown, undefined, unset        sites' own scripts n/a, not supported, not available,
//   unavailable     nvidia-smi, clouds' command lines no-imds-data                     OKE's
//   labeller, where the metadata service said nothing no-topology                      NVIDIA's
//   topograph, for nodes that its provider did not place 00000000-0000-0000-0000-000000000000, also
//   with ".CLIQUE" behind it   NVML, for GPUs without a
//                                    fabric; also 0x0 and other zeros of at least 16 digits
bool is_placeholder(std::string_view name);

}  // namespace toprun::topology
