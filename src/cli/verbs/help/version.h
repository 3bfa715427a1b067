#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun version [-v|--sbom]`.
Result<int> run_version(const options::Call& call);

}  // namespace toprun::cli
