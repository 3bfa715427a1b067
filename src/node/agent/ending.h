#pragma once

#include <string>

#include "node/plan/job.h"
#include "run/conductor/course.h"
#include "run/conductor/events.h"

namespace toprun::agent {

enum class Follows { another_attempt, nothing };

// Prints why the attempt failed, and advice. `follows` says whether another attempt follows, which
// changes the advice about a lost node. Prints nothing if the attempt did not fail.
void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt, Follows follows);

// Returns what the user can do about `cause`, the cause of the attempt's failure. Empty if there is
// no advice.
std::string next_step(const plan::Job& job, const run::AttemptCourse& attempt,
                      const model::Cause& cause, Follows follows);

// Asks the engine (the batch system) why the engine ended the run. For this, runs one of the
// engine's commands.
run::EngineAnswered why_stopped(const Environment& environment);

// Returns the last line that the run prints, with its newline.
std::string summary(const plan::Job& job, const run::Course& course);

}  // namespace toprun::agent
