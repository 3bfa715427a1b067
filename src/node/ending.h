#pragma once

#include <string>

#include "plan/job.h"
#include "run/record.h"
#include "view/report.h"

namespace toprun::node {

// Prints the report of a failed attempt.
void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt);

// The content of --report's file, for a run that is over or goes on.
view::RunRecord record_of(const plan::Job& job, const run::Course& course);

// The run's last line, with its line end.
std::string summary(const plan::Job& job, const run::Course& course);

}  // namespace toprun::node
