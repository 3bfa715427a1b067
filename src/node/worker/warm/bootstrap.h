#pragma once

#include <string_view>

namespace toprun::warm {

// The text of node/worker/warm/bootstrap.py.
extern const std::string_view bootstrap;

}  // namespace toprun::warm
