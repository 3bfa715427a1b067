#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "topology/cloud/metadata.h"
#include "topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_json_depth = 32;
// How many instances one call of DescribeInstanceTopology takes by their ids.
inline constexpr std::size_t max_instances_per_call = 100;
// For `aws`; the root agent waits for it while it holds the job together.
inline constexpr std::chrono::seconds aws_timeout{5};

// What `aws ec2 describe-instance-topology` prints, for hosts that are named by InstanceId:
//   {"Instances": [{"InstanceId": "i-…", "NetworkNodes": ["nn-top", …, "nn-leaf"],
//                   "CapacityBlockId": null, "AvailabilityZone": "us-west-2b", "ZoneId":
//                   "usw2-az2"}]}
// NetworkNodes stand outermost first, as many as the instance's type has (3 or 4, in reservations
// fewer): instances of unequal depth are aligned at the leaf. Levels: "zone", those of the network
// nodes as switches, and "nvlink", the UltraServer that CapacityBlockId (null, or "null", where
// there is none) stands for; zone and nvlink only if the file knows any.
//
// Warnings: keys that are none of AWS's; a NextToken, so that instances are missing. Error: no JSON
// (file:line:column), a value of another type (file: Instances[3].NetworkNodes), an instance twice.
Result<Map> parse_aws_topology(std::string_view text, const std::string& file);

// Whether a file's text is such a thing.
bool looks_like_aws_topology(std::string_view text);

// Adds the members under their own names, as the instances that they found themselves to be.
void add_members(Map& map, std::span<const Member> members);

Question ec2_token_question();
Question ec2_instance_question(const std::string& token);

// Runs `aws ec2 describe-instance-topology` for the members' instances, known by what they found
// themselves to be or by their names; nullopt if there are none.
// Blocks for aws_timeout at most.
Result<std::optional<Map>> read_aws(const Request& request);

}  // namespace toprun::topology
