#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace toprun {

// Starts a thread with all signals blocked: the event loop handles them. Nothing if the system
// gives no thread (ulimit -u, -v).
std::optional<std::thread> quiet_thread(std::function<void()> body);

}  // namespace toprun
