#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
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

// Metadata values have a few hundred bytes. A server that sends more is not a metadata server.
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

// Clouds that give a machine information about its own place.
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

// Whether a node in this cloud must query the cloud for this value of --topology. EC2 reports only
// the instance's id. The id is useful only together with a file or with the output of AWS's own
// command, so `auto` does not query EC2.
bool worth_asking(Cloud cloud, std::string_view topology);

// Queries the metadata server about this node; errors are part of the returned evidence.
boost::asio::awaitable<CloudEvidence> ask_cloud(Cloud cloud, boost::asio::ip::tcp::endpoint server,
                                                SteadyTime deadline);

// Whether the text contains only printable ASCII, blanks and line ends, so that it can be sent as
// evidence.
bool is_plain(std::string_view text);
// Whether the text can be a domain's name: 1 to 256 printable characters without a blank.
bool is_domain_name(std::string_view text);

// The answers of the members that queried this cloud, in natural order of the members' names.
struct CloudAnswers {
  std::vector<const Member*> answered;
  // One line for each reason why members got no answer, with the names of these members.
  std::vector<std::string> failures;
};
// Collects the members' answers. `attribute` is the name of the queried attribute. If no member has
// the attribute, `auto` adds no warning, because most machine types do not have it.
CloudAnswers collect_answers(const Request& request, Cloud cloud, std::string_view attribute);

}  // namespace toprun::topology
