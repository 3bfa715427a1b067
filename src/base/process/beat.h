#pragma once

#include <chrono>
#include <functional>

namespace toprun::process {

// What a blocking call calls while it waits, at least every beat_interval: a watcher that gives
// this process up after a silence sees that it lives. Null: nothing.
using Beat = std::function<void()>;
inline constexpr std::chrono::milliseconds beat_interval{200};

}  // namespace toprun::process
