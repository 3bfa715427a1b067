#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun version [-v|--sbom]`.
int run_version(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
