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
// The hosts of each value; most hosts first, equal numbers by value.
std::vector<ValueGroup> groups_by_value(std::vector<ValueOfHost> values);

// A smaller difference does not count: it contains the time of a login's answer, or of a
// launch's join, on the way.
inline constexpr std::chrono::seconds clock_tolerance{2};

// A finding that some hosts have in common.
struct SharedFinding {
  std::vector<std::string> hosts;
  Finding finding;
};

// The findings of several hosts, each once with its hosts; then
// the hosts that differ from most others in a trait or by their clock; then the hosts of `expected`
// that gave no report. Worst first. If no value of a trait belongs to more hosts than any other,
// all its hosts share one finding.
std::vector<SharedFinding> compare(std::span<const HostReport> reports,
                                   std::span<const std::string> expected,
                                   Checks checks = Checks::with_findings);

}  // namespace toprun::doctor
