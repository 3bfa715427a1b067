#pragma once

#include <chrono>
#include <functional>

namespace toprun::process {

// The heartbeat: a blocking call calls this at least every beat_interval while it waits. It shows
// that this process is alive to a watcher that would give up after a silence. Null: no heartbeat.
using Beat = std::function<void()>;
inline constexpr std::chrono::milliseconds beat_interval{200};

}  // namespace toprun::process
