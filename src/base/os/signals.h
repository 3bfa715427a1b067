#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun {

// Returns the number of the signal with this name in signal(7), with or without SIG, in upper or
// lower case. Among the real-time signals, only RTMIN and RTMAX are known.
std::optional<int> parse_signal(std::string_view name);

// Returns "SIGTERM", or "signal 40" for a signal without a name.
std::string signal_name(int signal);

}  // namespace toprun
