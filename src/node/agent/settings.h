#pragma once

#include "node/plan/job.h"
#include "run/conductor/settings.h"

namespace toprun::agent {

// The coordinator's settings for a job. `colours`: this terminal shows colours. `stage_key`: empty
// without --stage.
run::Settings settings_of(const plan::Job& job, bool colours, bool leaves_endpoint,
                          std::string stage_key);

}  // namespace toprun::agent
