#pragma once

#include <string>

#include "node/plan/job.h"
#include "run/conductor/course.h"
#include "run/conductor/events.h"

namespace toprun::agent {

enum class Follows { another_attempt, nothing };

// Prints the report of a failed attempt. If no further attempt follows, the report includes advice
// on a lost node.
void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt, Follows follows);

// What the user can do about the cause; empty: no advice.
// `cause`: the attempt's.
std::string next_step(const plan::Job& job, const run::AttemptCourse& attempt,
                      const model::Cause& cause, Follows follows);

// Asks the engine (the batch system) why the engine ended the run. To ask, runs one of the engine's
// commands.
run::EngineAnswered why_stopped(const Environment& environment);

// The last line that the run prints, with its newline.
std::string summary(const plan::Job& job, const run::Course& course);

}  // namespace toprun::agent
