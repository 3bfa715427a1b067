#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun config init`: writes a first toprun.toml from facts about the engine.
Result<int> run_config_init(const options::Call& call);

}  // namespace toprun::cli
