#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "observe/snapshot/snapshot.h"

namespace toprun::snapshot {

// The events that --notify reports.
enum class Happening {
  restarts,  // an attempt failed and another follows
  hangs,     // no rank makes progress
  ended,     // the run is over, with or without success
};

// Returns the JSON for --notify, with schema toprun.notice/1 (docs/guides/metrics.md).
nlohmann::json notice_json(Happening happening, Run run, WallTime now);

}  // namespace toprun::snapshot
