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

// Smaller clock differences are ignored: the measured difference includes the time for an ssh
// login's answer or a launch's join.
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
// If no value of a trait belongs to more hosts than any other, all its hosts share one finding.
std::vector<SharedFinding> compare(std::span<const HostReport> reports,
                                   std::span<const std::string> expected,
                                   Checks checks = Checks::with_findings);

}  // namespace toprun::doctor
