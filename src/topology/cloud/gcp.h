#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "topology/cloud/metadata.h"
#include "topology/source.h"

namespace toprun::topology {

// Google Cloud's attribute physical_host, of the metadata server or of `gcloud compute instances
// describe` (resourceStatus.physicalHost): "/cluster/rack/host", on newer machine types
// "/cluster/block/subblock/host"; the first slash may be missing, the components are opaque. The
// host's own id is dropped. Error: what is wrong with the text.
std::expected<Path, std::string> parse_gcp_physical_host(std::string_view text);

Question gcp_question();

// Where the members' own answers put them. An empty answer comes from a machine that was created
// without a compact placement policy; all of those are named in one warning, with the command that
// shows it. Answers that are malformed, or of fewer levels than others', are ignored with a
// warning. A map without hosts: no member's place is known.
Result<std::optional<Map>> read_gcp(const Request& request);

}  // namespace toprun::topology
