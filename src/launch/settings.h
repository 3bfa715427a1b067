#pragma once

#include "launch/job.h"
#include "run/settings.h"

namespace toprun::launch {

// What the root's coordinator has to know of a job. `colours`: this terminal shows them.
run::Settings settings_of(const Job& job, bool colours);

}  // namespace toprun::launch
