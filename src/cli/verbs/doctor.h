#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun doctor …`: what is wrong with this machine for a distributed job, as lines, one object or
// commands (stdout). The exit code is that of the worst finding (machine/doctor/report.h).
Result<int> run_doctor(const options::Call& call);

}  // namespace toprun::cli
