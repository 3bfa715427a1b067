#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/clock.h"
#include "topology/source.h"

namespace toprun::topology {

// Of one answer, as it travels to the root.
inline constexpr std::size_t max_evidence_bytes = 4u << 10;

// Clouds that tell a machine, from within, something about its place.
enum class Cloud { none, gcp, oci, aws };
std::string_view name_of(Cloud cloud);  // as --topology and CloudEvidence name it; "none"

// What the firmware says of the machine: texts of /sys/class/dmi/id, empty where unreadable.
struct Dmi {
  std::string product_name;
  std::string sys_vendor;
  std::string bios_vendor;
  std::string bios_version;
  std::string chassis_asset_tag;
};
inline constexpr std::string_view dmi_folder = "/sys/class/dmi/id";
Dmi read_dmi(const std::filesystem::path& folder);

// The cloud that these texts name. They are as the clouds document them for telling one's own
// machines: "Google Compute Engine" as product, the asset tag "OracleCloud.com", "Amazon EC2" as
// vendor (on older, Xen instances a BIOS version that ends in "amazon").
Cloud cloud_of(const Dmi& dmi);

// Whether a node in this cloud has to ask it for this --topology. An instance's id, all that EC2
// tells, is of use with a file or with what AWS's own command prints: `auto` does without.
bool worth_asking(Cloud cloud, std::string_view topology);

// Asks the metadata server about this node; never an error, the evidence carries it.
boost::asio::awaitable<CloudEvidence> ask_cloud(Cloud cloud, boost::asio::ip::tcp::endpoint server,
                                                SteadyTime deadline);

// Printable ASCII, blanks and line ends: what may travel as evidence.
bool is_plain(std::string_view text);
// An opaque name of a domain: 1 to 256 printable characters without a blank.
bool is_domain_name(std::string_view text);

// The members that asked this cloud, by what came of it; in natural order of their names.
struct Hearing {
  std::vector<const Member*> answered;
  std::vector<std::string> complaints;  // of the others, one line for each reason, with their names
};
// `attribute` is what was asked for. That a cloud knows it of no member at all is not worth a word
// of `auto`: most kinds of machines have none.
Hearing hear(const Request& request, Cloud cloud, std::string_view attribute);

}  // namespace toprun::topology
