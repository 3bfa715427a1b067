#pragma once

#include <string>

#include "plan/job.h"
#include "run/record.h"

namespace toprun::node {

// Prints the report of a failed attempt.
void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt);

// The run's last line, with its line end.
std::string summary(const plan::Job& job, const run::Course& course);

}  // namespace toprun::node
