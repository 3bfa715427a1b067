#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "machine/doctor/facts.h"
#include "machine/doctor/finding.h"

namespace toprun::doctor {

// Runs all checks and returns their findings, in the order of the table of checks. A check may
// return several findings; a check that finds nothing returns one finding with "ok".
std::vector<Finding> examine(const Facts& facts);

// Returns the index of the check with this id in the table; for another id, the table's size.
std::size_t place_of_check(std::string_view id);

Severity worst_of(const std::vector<Finding>& findings);

}  // namespace toprun::doctor
