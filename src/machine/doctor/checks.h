#pragma once

#include <vector>

#include "machine/doctor/facts.h"
#include "machine/doctor/finding.h"

namespace toprun::doctor {

// The findings of all checks, in the order of the table. A check may return several findings; a
// check that finds nothing returns one finding with "ok".
std::vector<Finding> examine(const Facts& facts);

Severity worst_of(const std::vector<Finding>& findings);

}  // namespace toprun::doctor
