#pragma once

#include <chrono>
#include <functional>

namespace toprun::process {

// The heartbeat callback. A blocking function calls it at least every beat_interval while the
// function waits. The heartbeat shows a watcher that this process is alive. Without heartbeats, the
// watcher would give up after a while. Null: no heartbeat.
using Beat = std::function<void()>;
inline constexpr std::chrono::milliseconds beat_interval{200};

}  // namespace toprun::process
