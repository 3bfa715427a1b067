#pragma once

#include <string_view>

namespace toprun::engines {

// Shows the stderr output of a Slurm program that succeeded, such as a site's news or an option
// that will be removed. Each process shows each line only once. Thread-safe.
void pass_on_warnings(std::string_view err);

}  // namespace toprun::engines
