#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace toprun {

// Starts a thread with all signals blocked, because the event loop handles signals. nullopt if the
// system cannot start a thread (ulimit -u, -v).
std::optional<std::thread> quiet_thread(std::function<void()> body);

}  // namespace toprun
