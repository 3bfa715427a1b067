#pragma once

#include <string_view>

namespace toprun {

// Whether a variable's value must not be shown: WANDB_API_KEY, HF_TOKEN, a proxy's
// user:password@host.
bool holds_a_secret(std::string_view name, std::string_view value);

// From now on this process leaves no core file, which would hold the job's secret. A child inherits
// that, unless it gets other limits.
void leave_no_core_file();

}  // namespace toprun
