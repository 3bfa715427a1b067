#pragma once

#include <nlohmann/json_fwd.hpp>

#include "machine/meter/usage.h"
#include "run/model/run_messages.h"

namespace toprun::model {

// {"host": [CPUs, busy, memory, memory total, received, sent],
//  "ranks": [[busy, memory, silence, GPU busy percent, GPU memory, GPU memory total] …]}.
// Busy CPUs are in thousandths, memory in bytes, traffic in bytes per second, silence in
// milliseconds; -1: unknown. "lines": the ranks' last lines, if there are any.
void write_usage(nlohmann::json& object, const meter::Node& node);
// Throws OutOfRange or nlohmann::json::exception.
meter::Node usage_in(const nlohmann::json& object);

// The agents' answers about a hang: where their ranks are, and what flight recorders and NCCL
// report.
void write(nlohmann::json& object, const RanksSeen& seen);
void write(nlohmann::json& object, const RanksReported& reported);
// Both functions throw OutOfRange or nlohmann::json::exception.
void read_from(const nlohmann::json& object, RanksSeen& seen);
void read_from(const nlohmann::json& object, RanksReported& reported);

}  // namespace toprun::model
