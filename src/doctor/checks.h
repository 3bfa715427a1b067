#pragma once

#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace toprun::doctor {

// What every check says of the machine, in the order of the table; a check may find several things,
// and says "ok" where it finds none.
std::vector<Finding> examine(const Facts& facts);

// The worst of them; unknown counts as ok.
Severity worst_of(const std::vector<Finding>& findings);

}  // namespace toprun::doctor
