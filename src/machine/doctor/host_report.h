#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "machine/doctor/finding.h"
#include "machine/doctor/traits.h"

namespace toprun::doctor {

// The findings and traits of one host.
struct HostReport {
  std::string host;
  std::vector<Finding> findings;
  std::vector<Trait> traits;
  std::chrono::milliseconds clock_behind{0};  // the time on the host that collects the reports
                                              // minus the time on this host
};

nlohmann::json json_of(const Finding& finding);

// Returns one line: {"schema": "toprun.doctor/1", "host", "time" (seconds since 1970), "findings":
// [{id, severity, applies, evidence, fix, commands}], "traits": [{id, subject, value, place if
// there is one}]}.
std::string json_of(const HostReport& report, WallTime now);

// Which checks are in a report.
enum class Checks { with_findings, all };

// Returns a report as several lines, each a JSON object: {"host", "finding"}, {"host", "trait"},
// and at the end {"host", "time", "lines": the number of lines before}. Long texts are shortened,
// so that no line is longer than max_line_bytes. The reason is that srun splits lines above 1,024
// bytes and mixes the pieces of several tasks.
std::string json_lines_of(const HostReport& report, WallTime now,
                          Checks checks = Checks::with_findings);
inline constexpr std::size_t max_line_bytes = 1'000;

// Collects the reports of many hosts from lines of json_lines_of(), in any order.
class HostReports {
 public:
  static constexpr std::size_t max_hosts = 100'000;
  static constexpr int max_lines_of_a_host = 4'096;

  // Adds `line`, which arrived at the time `arrived`. False: the line has another form or exceeds a
  // limit.
  bool take(std::string_view line, WallTime arrived);

  // Returns the reports whose lines have all arrived, in the order of the hosts' names.
  std::vector<HostReport> complete() const;

 private:
  struct Known {
    HostReport report;
    int lines = 0;
    int expected = -1;  // "lines" in the host's last line; -1: not arrived yet
  };
  std::map<std::string, Known> known_;
};

struct ValueOfHost {
  std::string host;
  std::string value;
};
struct ValueGroup {
  std::string value;
  std::vector<std::string> hosts;
};
// Groups the hosts by value: the group with most hosts first, and groups of equal size sorted by
// their value.
std::vector<ValueGroup> groups_by_value(std::vector<ValueOfHost> values);

// Differences between two hosts' clocks below this limit are ignored. The measured difference
// includes a delay: the time that an ssh login takes to answer, or the time in which the nodes of a
// launch join.
inline constexpr std::chrono::seconds clock_tolerance{2};

// A finding shared by several hosts.
struct SharedFinding {
  std::vector<std::string> hosts;
  Finding finding;
};

// Why these hosts could not be examined.
struct Unreached {
  std::vector<std::string> hosts;
  std::string why;
  std::string fix;
};

// Combines the findings of several hosts, the worst first:
//   - each finding once, with its hosts;
//   - the hosts that differ from most others in a trait or by their clock;
//   - the hosts in `expected` without a report, with the reason if it is in `unreached`.
// If hosts differ in a trait and no value is the most frequent, one finding lists all hosts with
// this trait.
std::vector<SharedFinding> compare(std::span<const HostReport> reports,
                                   std::span<const std::string> expected,
                                   Checks checks = Checks::with_findings,
                                   std::span<const Unreached> unreached = {});

}  // namespace toprun::doctor
