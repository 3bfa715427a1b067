#pragma once

#include <string>
#include <string_view>

#include "run/model/hang.h"

namespace toprun::report {

// The headline and the ranks' positions, for a terminal: at most hang::most_lines lines.
std::string hang_text(const model::Hang& hang, std::string_view next);

}  // namespace toprun::report
