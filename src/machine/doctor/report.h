#pragma once

#include <span>
#include <string>
#include <vector>

#include "machine/doctor/compare.h"
#include "machine/doctor/finding.h"

namespace toprun::doctor {

// 0: nothing worse than a note.
inline constexpr int exit_warning = 3;
inline constexpr int exit_error = 4;
int exit_code(Severity worst);

// The findings, worst first, and how many checks found nothing; with `all` those too. `host` stands
// before each finding's evidence; empty: there is one machine alone.
std::string findings_text(const std::vector<Finding>& findings, bool all,
                          const std::string& host = {});
// The same of several hosts: each line begins its evidence with the hosts' names.
std::string findings_text(const std::vector<SharedFinding>& findings, std::size_t hosts);

// The commands that correct the findings, each below a comment that says what, and where if several
// hosts were examined.
std::string fixes_text(const std::vector<Finding>& findings, const std::string& host = {});
std::string fixes_text(const std::vector<SharedFinding>& findings);

// {"schema": "toprun.doctor_hosts/1", "hosts": those that answered, "findings": [{hosts, id,
// severity, evidence, fix, commands}]} in one line.
std::string findings_json(const std::vector<SharedFinding>& findings,
                          const std::vector<std::string>& hosts);

}  // namespace toprun::doctor
