#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/source.h"
#include "decide/topology/tree.h"

namespace toprun::topology {

// Converts a topology that a person wrote in TOML, JSON or YAML, host by host or domain by domain,
// or both:
//
//   levels = ["cluster", "rack"]     # names of the levels, outermost first; may be left out
//
//   [hosts]                          # the domains that a host is in
//   n0 = "/c/b"
//   "n[1-3]" = ["c", "a"]            # hostlists and arrays too; "" is an unknown level, "-" none
//   n4 = "/c/b/4711"                 # with `levels`: also the host's own id (physical_host)
//
//   [domains.c]                      # the hosts that a domain has, domains within domains
//   b = "n[5-6]"
//   a = ["n7", "n[8-9]"]
//
//   [links]                          # of a domain to the outside, in each direction
//   rack = 400                       # gigabits per second
//   host = {gbps = 100, latency_us = 5}  # each host's adapters together
//
// Unknown keys cause a warning. Errors (file:line:column): a value of a wrong type, a path whose
// length differs from `levels` or the first path, a duplicate host, a link for a level that does
// not exist, an invalid number.
Result<Map> map_of_plain(const DataNode& root, const std::string& file);

inline constexpr std::string_view toml_advice = "see https://toml.io";  // for syntax errors
// Parses a topology in TOML, in the form of map_of_plain(). Errors (file:line:column): a TOML
// syntax error, and the errors of map_of_plain().
Result<Map> parse_toml_file(std::string_view text, const std::string& file);

// Parses a topology in JSON: our own form (map_of_plain()), toprun's own output, or the
// answer of a cloud's or tool's API. An API's answer is a list of instances, or an object with this
// list at the key instances, data, results or items:
//   {"id", "network_layers": [leaf … root], "labels"}                  NVIDIA topograph's graph
//   {"id", "networkPath": [{"id"} leaf … root], "nvlink": {"domain_id", "clique_id"}}        Lambda
//   {"instance_id", "network_node_path": [root … leaf], "block_id"}                          Nscale
//   {"metadata": {"name"}, "status": {"infiniband_topology_path": {"path": [root … leaf]}}}  Nebius
// The sources for these forms are topograph's pkg/topology and pkg/providers; keys may also be in
// camel case. An NVLink domain becomes a level inside the leaf. Kubernetes objects are parsed as in
// map_of_kubernetes(), with `members`. If a path is shorter than others, its outermost levels are
// unknown. An instance without a path is a host with an unknown place. Errors (file:line:column): a
// JSON syntax error, another form, a value of a wrong type, a duplicate host, more than max_levels.
Result<Map> parse_json_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members = {});

// Whether a JSON or YAML document is a Kubernetes object.
bool is_kubernetes(const DataNode& root);

// Reads the output of `kubectl get nodes -o json` or -o yaml. It may list a single Node. The levels
// are the nodes' labels (k8s_labels.h). If the list also contains a Topology (of Kueue or KAI), the
// labels that the Topology lists are the levels. If the list contains HyperNodes (hypernodes.h),
// they become additional levels. A Kueue Workload is ignored, because it does not contain the
// nodes' places. A YAML file may have several documents, each a list or an object. The map contains
// only the job's nodes (`members`); if `members` is empty, it contains all nodes. Errors
// (file:line:column): neither nodes nor HyperNodes, a node without a name, a duplicate node.
Result<Map> map_of_kubernetes(std::span<const DataNode> documents, const std::string& file,
                              const std::vector<Member>& members);

// Requests the nodes' labels from the cluster, and waits for at most request.budget. Uses kubectl,
// as the user or as the pod's service account. In a pod without kubectl, sends its own request with
// the token of the pod's service account (api_server.h). nullopt: no member is a node of the
// cluster.
Result<std::optional<Map>> read_cluster(const Request& request);

// Whether this process is in a pod with access to the cluster's API server. If so, --topology auto
// queries this server.
bool can_ask_cluster(const Request& request);

// Whether the word is a label such as "3:", which `srun -l` writes before each line: the task's
// number.
bool is_task_label(std::string_view word);

// Parses a text with one host per line: the host's name and place. The place has the form of Google
// Cloud's metadata attribute physical_host: the outermost domain comes first; the last part is the
// host's own id and is dropped.
//   # comment
//   n0      /c/b/0
//   n[1-3]  /c/a/x          a hostlist: several hosts in one rack
//   3: n4   /c/a/y          with the label of `srun -l`; a host may then occur several times
// The text may also be a table as printed by `toprun topo order` and examples/topology.py. Its
// lines start with a rank. The table may have a heading "rank hostname physical_host" and a title
// of words without "/":
//   0       n2              /c/a/2
// An empty component, as in "/c//0", is an unknown level. If the place is "-", "unknown" or
// missing, all its levels are unknown. All paths have the same number of levels: two levels are
// "cluster", "rack", three are "cluster", "block", "rack". Errors (file:line:column): any other
// line; a path whose length differs from the first path; a duplicate host (allowed: the same host
// with the same place in two tables).
Result<Map> parse_lines_file(std::string_view text, const std::string& file);

// Parses the topology that Azure CycleCloud's azslurm prints (azure-slurm, slurmcc/topology.py).
// azslurm prints a tree of switches:
//   Switch 5 (root)
//   ├── Switch 0 (2 nodes)
//   │   ├── n1
//   │   └── n2
// or a table of hosts for each NVLink domain:
//   block 1  : # of Nodes = 3
//   ClusterUUID + CliqueID : 5e797fc6-…
//   |----|----|
//   | n1 | n2 |
//   |----|----|
// The domains are named "switch5" and "block1", as in the topology.conf that azslurm writes. Errors
// (file:line:column): a line of another form; those of map_of_switches() and map_of_blocks().
Result<Map> parse_azslurm_file(std::string_view text, const std::string& file);

// Whether the line can be the first line of azslurm's output.
bool looks_like_azslurm(std::string_view line);

}  // namespace toprun::topology
