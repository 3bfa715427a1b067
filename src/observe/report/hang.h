#pragma once

#include <string>
#include <string_view>

#include "run/model/hang.h"

namespace toprun::report {

// The headline and where the ranks stand, for a terminal: at most hang::most_lines.
std::string hang_text(const model::Hang& hang, std::string_view next);

}  // namespace toprun::report
