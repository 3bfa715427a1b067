#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun {

// The number of the signal with this name of signal(7), with or without SIG, in either case. Of the
// real-time signals it knows RTMIN and RTMAX.
std::optional<int> parse_signal(std::string_view name);

// "SIGTERM"; "signal 40" for one without a name.
std::string signal_name(int signal);

}  // namespace toprun
