#pragma once

namespace toprun::engines {

// Exit codes that tell what an engine did with a job, beside exit_preempted of base/text/error.h.

// It never began, since a job that it waits for has ended otherwise than asked: EX_UNAVAILABLE of
// sysexits.h, what it needs is not there.
inline constexpr int exit_not_started = 69;
// It reached its time limit: as timeout(1).
inline constexpr int exit_time_limit = 124;
// It was cancelled: as of a program that SIGTERM ends.
inline constexpr int exit_cancelled = 143;

}  // namespace toprun::engines
