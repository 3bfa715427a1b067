#pragma once

#include "options/call.h"

namespace toprun::cli {

// `toprun config init`: a toprun.toml to begin with, made of what the engine says of itself.
Result<int> run_config_init(const options::Call& call);

}  // namespace toprun::cli
