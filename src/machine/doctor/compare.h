#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "machine/doctor/finding.h"
#include "machine/doctor/host_report.h"

namespace toprun::doctor {

struct ValueOfHost {
  std::string host;
  std::string value;
};
struct ValueGroup {
  std::string value;
  std::vector<std::string> hosts;
};
// The hosts grouped by value: the group with most hosts first, groups of equal size by value.
std::vector<ValueGroup> groups_by_value(std::vector<ValueOfHost> values);

// Smaller clock differences are ignored, because the measurement includes the time that an ssh
// login needs to answer, or that the nodes of a launch need to join.
inline constexpr std::chrono::seconds clock_tolerance{2};

// A finding shared by several hosts.
struct SharedFinding {
  std::vector<std::string> hosts;
  Finding finding;
};

// Combines the findings of several hosts, the worst first:
//   - each finding once, with its hosts;
//   - the hosts that differ from most others in a trait or by their clock;
//   - the hosts in `expected` without a report.
// If hosts differ in a trait and the largest groups are of equal size, all hosts with this trait
// share one finding.
std::vector<SharedFinding> compare(std::span<const HostReport> reports,
                                   std::span<const std::string> expected,
                                   Checks checks = Checks::with_findings);

}  // namespace toprun::doctor
