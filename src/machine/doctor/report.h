#pragma once

#include <string>
#include <vector>

#include "machine/doctor/finding.h"
#include "machine/doctor/host_report.h"

namespace toprun::doctor {

// The exit codes of `toprun doctor` if its worst finding is a warning or an error. If no finding is
// worse than a note, the exit code is 0.
inline constexpr int exit_warning = 3;
inline constexpr int exit_error = 4;
int exit_code(Severity worst);

// Returns the findings as lines, the worst first. The last line contains two numbers: how many
// checks found nothing, and how many do not apply to this machine. With `all`, each of these checks
// has its own line instead. Each line begins with `host`, which is empty if there is only one
// machine.
std::string findings_text(const std::vector<Finding>& findings, bool all,
                          const std::string& host = {});
// Returns the findings of several hosts. The evidence of each finding begins with its hosts' names.
std::string findings_text(const std::vector<SharedFinding>& findings, std::size_t hosts);

// Returns the commands that correct the findings, in the order of the table of checks, so that
// drivers are loaded before the services that need them are started. A comment above a finding's
// commands names the finding and, if several hosts were examined, the hosts. If a finding has no
// commands, a second comment says what to do. If `host` or the findings name hosts, ssh runs the
// commands on each of these hosts. A command that needs root begins with `sudo`, unless it is for
// this machine and `is_root`.
std::string fixes_text(const std::vector<Finding>& findings, bool is_root,
                       const std::string& host = {});
std::string fixes_text(const std::vector<SharedFinding>& findings);

// Returns one line: {"schema": "toprun.doctor_hosts/1", "hosts": the hosts that answered,
// "findings": [{hosts, id, severity, applies, evidence, fix, commands}]}.
std::string findings_json(const std::vector<SharedFinding>& findings,
                          const std::vector<std::string>& hosts);

}  // namespace toprun::doctor
