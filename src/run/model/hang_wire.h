#pragma once

#include <nlohmann/json_fwd.hpp>

#include "machine/meter/usage.h"
#include "run/model/run_messages.h"

namespace toprun::model {

// Writes the resource use of a node: {"host": [CPUs, busy, memory, memory total, received, sent],
//  "ranks": [[busy, memory, silence, GPU busy percent, GPU memory, GPU memory total] …]}.
// Busy CPUs are in thousandths, memory in bytes, traffic in bytes per second, silence in
// milliseconds; -1: unknown. "lines": the ranks' last lines, if there are any.
void write_usage(nlohmann::json& object, const meter::Node& node);
// Reads the output of write_usage(). Throws OutOfRange or nlohmann::json::exception.
meter::Node usage_in(const nlohmann::json& object);

// Writes where an agent's ranks are in their code.
void write(nlohmann::json& object, const RanksSeen& seen);
// Writes what flight recorders and NCCL report about an agent's ranks.
void write(nlohmann::json& object, const RanksReported& reported);
// Read the output of write(). Throw OutOfRange or nlohmann::json::exception.
void read_from(const nlohmann::json& object, RanksSeen& seen);
void read_from(const nlohmann::json& object, RanksReported& reported);

}  // namespace toprun::model
