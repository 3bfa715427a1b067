#pragma once

#include <chrono>
#include <map>
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

// One line: {"schema": "toprun.doctor/1", "host", "time" (seconds since 1970), "findings": [{id,
// severity, applies, evidence, fix, commands}], "traits": [{id, subject, value, place if there is
// one}]}.
std::string json_of(const HostReport& report, WallTime now);

// Which checks are in a report.
enum class Checks { with_findings, all };

// A report as several lines, each a JSON object: {"host", "finding"}, {"host", "trait"}, and at the
// end {"host", "time", "lines": the number of lines before}. srun splits lines above 1,024 bytes
// and mixes the pieces of several tasks. Long texts are shortened, so that no line is longer than
// max_line_bytes.
std::string json_lines_of(const HostReport& report, WallTime now,
                          Checks checks = Checks::with_findings);
inline constexpr std::size_t max_line_bytes = 1'000;

// Collects the reports of many hosts from lines of json_lines_of(), in any order.
class HostReports {
 public:
  static constexpr std::size_t max_hosts = 100'000;
  static constexpr int max_lines_of_a_host = 4'096;

  // False: the line has another form or exceeds a limit.
  bool take(std::string_view line, WallTime arrived);

  // The reports whose lines have all arrived, in the order of the hosts' names.
  std::vector<HostReport> complete() const;

 private:
  struct Known {
    HostReport report;
    int lines = 0;
    int expected = -1;  // from the last line; -1: this line has not arrived yet
  };
  std::map<std::string, Known> known_;
};

}  // namespace toprun::doctor
