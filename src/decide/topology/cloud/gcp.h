#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// Parses Google Cloud's attribute physical_host from the metadata server or from `gcloud compute
// instances describe` (resourceStatus.physicalHost): "/cluster/rack/host", on newer machine types
// "/cluster/block/subblock/host". The first slash may be missing; the components are opaque. The
// host's own id is dropped. Error: what is wrong with the text.
std::expected<Path, std::string> parse_gcp_physical_host(std::string_view text);

Question gcp_question();

// Builds a map of the members from their own answers. An empty answer means that the machine has no
// compact placement policy. One warning lists all such machines, with the command that shows the
// policy. Malformed answers, and answers with fewer levels than others, are ignored with a warning.
// The map has no hosts if no member's place is known.
Result<std::optional<Map>> read_gcp(const Request& request);

}  // namespace toprun::topology
