#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace toprun {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

std::chrono::milliseconds since_1970(WallTime time);
// Formats a time by RFC 3339, in UTC with milliseconds: 2026-11-21T09:53:42.250Z.
std::string rfc3339(WallTime time);
// Parses a time in RFC 3339, with or without a fraction of a second; nullopt: the text has another
// form or another time zone.
std::optional<WallTime> time_in(std::string_view rfc3339);

// Formats the local time without a zone: "2026-11-22 03:26:11".
std::string time_text(WallTime time);
// Like time_text(time), but without the date if `beside` has the same date: "03:26:11".
std::string moment_text(WallTime time, WallTime beside);

// Formats a duration for people: "850 ms", "3.2 s", "4 min 05 s", "2 h 03 min".
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace toprun
