#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/source.h"

namespace toprun::topology {

// Parses a topology in JSON: our own form (plain_file.h), toprun's own output, or the
// answer of a cloud's or tool's API. Such an answer is a list of instances, or an object with this
// list at the key instances, data, results or items:
//   {"id", "network_layers": [leaf … root], "labels"}                  NVIDIA topograph's graph
//   {"id", "networkPath": [{"id"} leaf … root], "nvlink": {"domain_id", "clique_id"}}        Lambda
//   {"instance_id", "network_node_path": [root … leaf], "block_id"}                          Nscale
//   {"metadata": {"name"}, "status": {"infiniband_topology_path": {"path": [root … leaf]}}}  Nebius
// The sources for these forms are topograph's pkg/topology and pkg/providers; keys may also be in
// camel case. An NVLink domain becomes a level inside the leaf. Kubernetes objects are parsed as in
// k8s_file.h, with `members`. If a path is shorter than others, its outermost levels are unknown.
// An instance without a path is a host with an unknown place. Errors (file:line:column): a JSON
// syntax error, another form, a value of a wrong type, a duplicate host, more than max_levels.
Result<Map> parse_json_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members = {});

}  // namespace toprun::topology
