#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "watch/snapshot.h"

namespace toprun::watch {

// What --notify tells of a run.
enum class Happening {
  restarts,  // an attempt failed and another follows
  hangs,     // no rank makes progress
  ended,     // the run is over, well or not
};

// Schema toprun.notice/1 (docs/metrics.md).
nlohmann::json notice_json(Happening happening, Run run, WallTime now);

}  // namespace toprun::watch
