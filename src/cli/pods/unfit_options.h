#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/split.h"

namespace toprun::pods {

// Removes the options that jobs of pods do not have, such as --hosts. Errors (exit 2): such an
// option is on the command line. A toprun.toml may serve several engines, so such an option in a
// file or a variable only adds a note.
Result<options::Split> without_unfit(options::Split split, bool on_runai,
                                     std::vector<std::string>& notes);

}  // namespace toprun::pods
