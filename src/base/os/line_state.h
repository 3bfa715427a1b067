#pragma once

#include <atomic>

namespace toprun {

// Whether the last line on stderr, or in its copy (base/os/console_copy.h), has no end yet, as a
// progress bar of a rank: what toprun says then begins a line of its own. Whatever else writes
// there says so here; any thread may.
std::atomic<bool>& unfinished_on_stderr();
std::atomic<bool>& unfinished_in_copy();

// From now on that of stderr stands in memory that another process shares, which goes on speaking
// there when this one has died. It stays for good.
void keep_unfinished_on_stderr(std::atomic<bool>& shared);

}  // namespace toprun
