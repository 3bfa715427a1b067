#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/source.h"

namespace toprun::topology {

// A topology in JSON: our own (plain_file.h), what toprun printed (own_json.h), or what a cloud's
// or a tool's API answers, a list of instances by itself or behind instances, data, results or
// items:
//   {"id", "network_layers": [leaf … root], "labels"}                  NVIDIA topograph's graph
//   {"id", "networkPath": [{"id"} leaf … root], "nvlink": {"domain_id", "clique_id"}}        Lambda
//   {"instance_id", "network_node_path": [root … leaf], "block_id"}                          Nscale
//   {"metadata": {"name"}, "status": {"infiniband_topology_path": {"path": [root … leaf]}}}  Nebius
// (topograph's pkg/topology and pkg/providers; keys in camel case too.) An NVLink domain becomes a
// level inside the leaf. Objects of Kubernetes are read as k8s_file.h says, which `members` are
// for. Paths of unequal length meet at the leaf. An instance without a path is a host in an unknown
// place. Error (file:line:column): JSON's own syntax, another form, a value of another type, a host
// twice, more than max_levels.
Result<Map> parse_json_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members = {});

}  // namespace toprun::topology
