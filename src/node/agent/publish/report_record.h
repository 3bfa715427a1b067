#pragma once

#include <optional>

#include "node/plan/job.h"
#include "run/conductor/course.h"
#include "run/model/record.h"

namespace toprun::publish {

// Why an attempt failed; nullopt: the attempt did not fail.
std::optional<model::Cause> cause_in(const run::Verdict& verdict);

// The content of the --report file, for a run that is over or still running.
model::RunRecord record_of(const plan::Job& job, const run::Course& course);

}  // namespace toprun::publish
