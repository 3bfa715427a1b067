#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace toprun {

// A thread that gets no signals: they are the event loop's. None where the system gives none
// (ulimit -u, -v).
std::optional<std::thread> quiet_thread(std::function<void()> body);

}  // namespace toprun
