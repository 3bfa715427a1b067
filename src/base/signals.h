#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun {

// The number of a signal by its name as signal(7) has it, with or without SIG, in either case; of
// the real-time signals RTMIN and RTMAX.
std::optional<int> parse_signal(std::string_view name);

// "SIGTERM"; "signal 40" for one without a name.
std::string signal_name(int signal);

}  // namespace toprun
