#pragma once

#include <string>
#include <vector>

#include "doctor/finding.h"

namespace toprun::doctor {

// 0: nothing worse than a note.
inline constexpr int exit_warning = 3;
inline constexpr int exit_error = 4;
int exit_code(const std::vector<Finding>& findings);

// What was found, worst first, and how many checks found nothing; with `all` those too.
std::string findings_text(const std::vector<Finding>& findings, bool all);
// The commands that mend what was found, each below a comment that says what.
std::string fixes_text(const std::vector<Finding>& findings);
// {"schema": "toprun.doctor/1", "host": …, "findings": [{id, severity, evidence, fix}]}.
std::string findings_json(const std::vector<Finding>& findings, const std::string& host);

}  // namespace toprun::doctor
