#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/model/run_messages.h"

// The agents' answers about a hang: where their ranks are, and what flight recorders and NCCL
// report.
namespace toprun::model {

void write(nlohmann::json& object, const RanksSeen& seen);
void write(nlohmann::json& object, const RanksReported& reported);
// Both functions throw OutOfRange or nlohmann::json::exception.
void read_from(const nlohmann::json& object, RanksSeen& seen);
void read_from(const nlohmann::json& object, RanksReported& reported);

}  // namespace toprun::model
