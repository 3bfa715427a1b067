#pragma once

#include <string>

#include "base/text/error.h"

namespace toprun::cli {

// `toprun stacks --dumps DIR`: shows the dumps that PyTorch's flight recorder wrote for each rank
// after a time-out, and which rank caused the time-out. The number at the end of a dump's file name
// is the rank.
Result<int> show_dumps(const std::string& folder, bool as_json);

}  // namespace toprun::cli
