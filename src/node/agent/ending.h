#pragma once

#include <string>

#include "node/plan/job.h"
#include "run/conductor/events.h"
#include "run/conductor/record.h"

namespace toprun::agent {

enum class Follows { another_attempt, nothing };

// Prints the report of a failed attempt, with advice on a lost node where nothing follows.
void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt, Follows follows);

// Asks the engine why it has ended the run, by a command of its own.
run::EngineTold why_stopped(const Environment& environment);

// The run's last line, with its line end.
std::string summary(const plan::Job& job, const run::Course& course);

}  // namespace toprun::agent
