#pragma once

#include <vector>

#include "machine/doctor/facts.h"
#include "machine/doctor/finding.h"

namespace toprun::doctor {

// The findings of every check, in the order of the table. A check may have several findings; one
// without any has a finding "ok".
std::vector<Finding> examine(const Facts& facts);

Severity worst_of(const std::vector<Finding>& findings);

}  // namespace toprun::doctor
