#pragma once

#include <nlohmann/json_fwd.hpp>

#include "machine/meter/usage.h"

namespace toprun::model {

// {"host": [CPUs, busy, memory, memory total, received, sent],
//  "ranks": [[busy, memory, silence, GPU busy percent, GPU memory, GPU memory total] …]}.
// Busy CPUs are in thousandths, memory in bytes, traffic in bytes per second, silence in
// milliseconds; -1: unknown. "lines": the ranks' last lines, if there are any.
void write_usage(nlohmann::json& object, const meter::Node& node);
// Throws OutOfRange or nlohmann::json::exception.
meter::Node usage_in(const nlohmann::json& object);

}  // namespace toprun::model
