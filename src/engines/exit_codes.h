#pragma once

namespace toprun::engines {

// Exit codes that report what an engine did with a job. Another such exit code is exit_preempted in
// base/text/error.h.

// The job never started, because it depends on another job that did not end as required, or because
// the engine refused it. The value is EX_UNAVAILABLE in sysexits.h: something that the job needs is
// missing.
inline constexpr int exit_not_started = 69;
// The job reached its time limit. Same code as timeout(1).
inline constexpr int exit_time_limit = 124;
// The job was cancelled. Same code as for a program that SIGTERM ends.
inline constexpr int exit_cancelled = 143;

}  // namespace toprun::engines
