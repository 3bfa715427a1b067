#pragma once

namespace toprun::run {

// What follows a hang: only a report, the end of the attempt (--max-restarts then counts), or the
// end of the run.
enum class OnHang { report, restart, abort };

}  // namespace toprun::run
