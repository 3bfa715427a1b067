#pragma once

#include <string>
#include <vector>

#include "machine/doctor/finding.h"
#include "machine/doctor/host_report.h"

namespace toprun::doctor {

// The exit code if the worst finding is a warning. If nothing is worse than a note, the exit code
// is 0.
inline constexpr int exit_warning = 3;
inline constexpr int exit_error = 4;
int exit_code(Severity worst);

// The findings, worst first, the number of checks that found nothing, and the number of those that
// do not apply to this machine; with `all`, these checks too. Each line begins with `host`. `host`
// is empty if there is only one machine.
std::string findings_text(const std::vector<Finding>& findings, bool all,
                          const std::string& host = {});
// The findings of several hosts: each evidence begins with the hosts' names.
std::string findings_text(const std::vector<SharedFinding>& findings, std::size_t hosts);

// The commands that correct the findings, in the order of the table of checks: drivers are loaded
// before the services that need them are started. A comment above each names the finding and, if
// several hosts were examined, the hosts. A finding without commands has a second comment: what to
// do. The commands for hosts with names log in to each host by ssh.
std::string fixes_text(const std::vector<Finding>& findings, const std::string& host = {});
std::string fixes_text(const std::vector<SharedFinding>& findings);

// One line: {"schema": "toprun.doctor_hosts/1", "hosts": the hosts that answered, "findings":
// [{hosts, id, severity, applies, evidence, fix, commands}]}.
std::string findings_json(const std::vector<SharedFinding>& findings,
                          const std::vector<std::string>& hosts);

}  // namespace toprun::doctor
