#pragma once

#include <atomic>

namespace toprun {

// Whether the last line on stderr has no line end yet, like a rank's progress bar. If so, toprun
// begins its next message on a new line. unfinished_in_copy() is the same flag for the copy of
// stderr (base/os/console_copy.h). All other code that writes to stderr or to the copy has to set
// the flag. Any thread may set the flag.
std::atomic<bool>& unfinished_on_stderr();
std::atomic<bool>& unfinished_in_copy();

// From now on, the flag for stderr is in memory that another process shares. That process continues
// to write to stderr after this process has died. `shared` is used until this process ends.
void keep_unfinished_on_stderr(std::atomic<bool>& shared);

}  // namespace toprun
