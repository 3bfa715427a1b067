#pragma once

#include <string>

#include "base/text/error.h"

namespace toprun::cli {

// `toprun stacks --dumps DIR`: what PyTorch's flight recorder left there of each rank after a
// time-out, and who is to blame by it. A dump's rank is the number at the end of its file's name.
Result<int> show_dumps(const std::string& folder, bool as_json);

}  // namespace toprun::cli
