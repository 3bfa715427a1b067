#pragma once

#include <string_view>

namespace toprun::prefetch {

// The text of node/prepare/prefetch/probe.py.
extern const std::string_view probe;

}  // namespace toprun::prefetch
