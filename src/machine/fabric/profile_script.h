#pragma once

#include <chrono>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {

inline constexpr std::chrono::seconds script_limit{10};

// Runs the script of the node's network profile, if the profile has one. Bash sources the script
// with the user's environment and the profile's own variables. Every variable that the script has
// changed is added to node.script_changes and, if it is still set, to node.profile_settings. Blocks
// up to script_limit. On error (bash or the script failed), nothing is added.
Result<void> source_profile_script(NodeFabric& node);

// Returns the variables that differ between `before` and the output of `env -0`, sorted by name,
// without bash's own variables.
std::vector<ScriptChange> changes_between(const Environment& before, std::string_view env);

}  // namespace toprun::fabric
