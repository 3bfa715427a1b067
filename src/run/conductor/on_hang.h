#pragma once

namespace toprun::run {

// What follows a hang: only its report, or the end of the attempt, after which --max-restarts
// counts, or of the run.
enum class OnHang { report, restart, abort };

}  // namespace toprun::run
