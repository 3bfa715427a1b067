#pragma once

#include <string>

#include "plan/job.h"
#include "run/record.h"

namespace toprun::node {

// Prints the report of a failed attempt.
void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt);

// Writes --report's file, if it was asked for, while the run goes on: the last attempt may not have
// ended.
void keep_the_report(const plan::Job& job, const run::Course& course);

// The run's last line, with its line end.
std::string summary(const plan::Job& job, const run::Course& course);

// Prints what the user has to know at the end of a run: the last attempt's failure if there is one
// and the run's last line; writes --report's file.
void tell_the_end(const plan::Job& job, const run::Course& course);

}  // namespace toprun::node
