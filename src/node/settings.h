#pragma once

#include "plan/job.h"
#include "run/settings.h"

namespace toprun::node {

// What the root's coordinator has to know of a job. `colours`: this terminal shows them.
run::Settings settings_of(const plan::Job& job, bool colours);

}  // namespace toprun::node
