#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/source.h"

namespace toprun::topology {

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
// there is none). The levels zone and nvlink exist only if the file has values for them.
//
// Warnings: unknown keys; a NextToken, because it shows that instances are missing. Errors: invalid
// JSON (file:line:column), a value of a wrong type (file and key, as in Instances[3].NetworkNodes),
// a duplicate instance.
Result<Map> parse_aws_topology(std::string_view text, const std::string& file);

// Whether a file's text has the form that parse_aws_topology() parses.
bool looks_like_aws_topology(std::string_view text);

// Adds each member to the map, under its own name, with the place of the instance whose id the
// member reported.
void add_members(Map& map, std::span<const Member> members);

Question ec2_token_question();
Question ec2_instance_question(const std::string& token);

// Runs `aws ec2 describe-instance-topology` for the members' instances. The instance ids are those
// that the members reported, else the members' names; nullopt: there are no ids. Blocks for
// aws_timeout at most.
Result<std::optional<Map>> read_aws(const Request& request);

}  // namespace toprun::topology
