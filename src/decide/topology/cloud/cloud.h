#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// Metadata values have a few hundred bytes. A server that sends more than these limits is not a
// metadata server.
inline constexpr std::size_t max_metadata_header_bytes = 16u << 10;
inline constexpr std::size_t max_metadata_body_bytes = 64u << 10;

// Returns the address of a cloud's metadata server: 169.254.169.254, port 80. Outside a cloud this
// address does not answer, so callers must know that they are in a cloud (cloud_of()).
boost::asio::ip::tcp::endpoint metadata_server();

struct Question {
  std::string path;  // "/latest/meta-data/instance-id"
  std::vector<std::pair<std::string, std::string>> headers;
  bool put = false;  // true: PUT; false: GET
};

// Sends one HTTP request on its own connection; redirects are not followed. Returns the answer's
// body, or nullopt if there is no such attribute (404). Errors: no complete answer by the deadline,
// connection refused, any other status, an answer that is too long or not HTTP. An error's `what`
// contains the server and the path, its `why` the reason.
boost::asio::awaitable<Result<std::optional<std::string>>> ask(
    boost::asio::ip::tcp::endpoint server, Question question, SteadyTime deadline);

// The size limit of a cloud's answer about one node, which the node sends to the root agent.
inline constexpr std::size_t max_evidence_bytes = 4u << 10;

// Clouds whose metadata server helps to find a machine's place in the network.
enum class Cloud { none, gcp, oci, aws };
std::string_view name_of(Cloud cloud);  // as in --topology and CloudEvidence; "none"

// The firmware's description of the machine: texts of /sys/class/dmi/id, empty if unreadable.
struct Dmi {
  std::string product_name;
  std::string sys_vendor;
  std::string bios_vendor;
  std::string bios_version;
  std::string chassis_asset_tag;
};
inline constexpr std::string_view dmi_folder = "/sys/class/dmi/id";
Dmi read_dmi(const std::filesystem::path& folder);

// Returns the cloud that these texts identify. According to the clouds' documentation, Google has
// the product "Google Compute Engine", Oracle the asset tag "OracleCloud.com", and Amazon the
// vendor "Amazon EC2" (on older Xen instances, a BIOS version that ends in "amazon").
Cloud cloud_of(const Dmi& dmi);

// Whether nodes in this cloud must query the metadata server for this --topology value. EC2 reports
// only the instance's id. The id is useful only together with a file or with the output of AWS's
// own command, so `auto` does not query EC2.
bool worth_asking(Cloud cloud, std::string_view topology);

// Queries the metadata server about this node; errors are part of the returned evidence.
boost::asio::awaitable<CloudEvidence> ask_cloud(Cloud cloud, boost::asio::ip::tcp::endpoint server,
                                                SteadyTime deadline);

// Whether the text contains only printable ASCII, blanks and line ends, so that it can be sent as
// evidence.
bool is_plain(std::string_view text);
// Whether the text can be a domain's name: 1 to 256 printable characters without a blank.
bool is_domain_name(std::string_view text);

// The answers of the job's nodes that queried this cloud, sorted by the nodes' names.
struct CloudAnswers {
  std::vector<const Member*> answered;
  // One line per reason why nodes got no answer, with the names of these nodes.
  std::vector<std::string> failures;
};
// Collects the answers of the job's nodes (the request's members). `attribute` is the name of the
// queried attribute. If no node has the attribute, --topology auto adds no warning, because most
// machine types lack it.
CloudAnswers collect_answers(const Request& request, Cloud cloud, std::string_view attribute);

// Parses Google Cloud's attribute physical_host from the metadata server or from `gcloud compute
// instances describe` (resourceStatus.physicalHost): "/cluster/rack/host", on newer machine types
// "/cluster/block/subblock/host". The first slash may be missing; the components are opaque. The
// host's own id is dropped. The error string says what is wrong with the text.
std::expected<Path, std::string> parse_gcp_physical_host(std::string_view text);

Question gcp_question();

// Builds a map of the job's nodes (request.members) from their answers. An empty answer from the
// cloud means that the machine has no compact placement policy. One warning lists all such
// machines, with the command that shows the policy. Malformed answers, and answers with fewer
// levels than others, are ignored with a warning. If no node's place is known, the map has no
// hosts.
Result<std::optional<Map>> read_gcp(const Request& request);

// Parses Oracle Cloud's rdmaTopologyData (instance metadata v2, path host/rdmaTopologyData): a JSON
// object with customerHPCIslandId > customerNetworkBlock > customerLocalBlock. Innermost is the
// NVLink domain customerGpuMemoryFabric. A key that is missing, null or "" is an unknown level;
// other keys (customerHostId …) are ignored. The error string says what is wrong with the text.
using OciPlace = std::array<std::optional<std::string>, 4>;  // the levels above, in this order
std::expected<OciPlace, std::string> parse_oci_rdma_topology(std::string_view text);

Question oci_question();

// Builds a map of the job's nodes (request.members) from their answers. The levels are hpc-island,
// network-block, local-block, and nvlink if any member has an NVLink domain. A malformed answer is
// ignored with a warning. If no node's place is known, the map has no hosts.
Result<std::optional<Map>> read_oci(const Request& request);

inline constexpr std::size_t max_json_depth = 32;
// The maximum number of instance ids in one call of DescribeInstanceTopology.
inline constexpr std::size_t max_instances_per_call = 100;
// The timeout for the program `aws`. The timeout is short, because the root agent waits for the
// answer, and all nodes wait for the root agent.
inline constexpr std::chrono::seconds aws_timeout{5};

// Parses the output of `aws ec2 describe-instance-topology`; the InstanceId is the host's name:
//   {"Instances": [{"InstanceId": "i-…", "NetworkNodes": ["nn-top", …, "nn-leaf"],
//                   "CapacityBlockId": null, "AvailabilityZone": "us-west-2b", "ZoneId":
//                   "usw2-az2"}]}
// NetworkNodes lists the outermost switch first. The number of network nodes depends on the
// instance type (3 or 4, fewer in reservations). If an instance has fewer network nodes than
// others, its outermost switch levels are unknown. The levels are "zone", the network nodes as
// switches, and "nvlink" for CapacityBlockId, which identifies the UltraServer (null or "null" if
// there is none). The map has the levels zone and nvlink only if the file has values for them.
//
// Warnings: unknown keys; a NextToken, because it shows that instances are missing. Errors: invalid
// JSON (file:line:column), a value of a wrong type (file and key, as in Instances[3].NetworkNodes),
// a duplicate instance.
Result<Map> parse_aws_topology(std::string_view text, const std::string& file);

// Whether a file's text has the form that parse_aws_topology() parses.
bool looks_like_aws_topology(std::string_view text);

// Adds each of the job's nodes (`members`) to the map, under its own name. Its place is that of the
// instance whose id the node reported.
void add_members(Map& map, std::span<const Member> members);

Question ec2_token_question();
Question ec2_instance_question(const std::string& token);

// Runs `aws ec2 describe-instance-topology` for the instances of the job's nodes. The instance ids
// are those that the job's nodes reported, else the nodes' names. nullopt: there are no ids. Blocks
// for aws_timeout at most.
Result<std::optional<Map>> read_aws(const Request& request);

}  // namespace toprun::topology
