#include "base/text/clock.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

namespace toprun {
namespace {

constexpr std::size_t date_length = std::string_view("2026-11-22 ").size();

}  // namespace

std::chrono::milliseconds since_1970(WallTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
}

std::string rfc3339(WallTime time) {
  using namespace std::chrono;
  const auto milliseconds_total = since_1970(time);
  const auto seconds_total = floor<seconds>(milliseconds_total);
  const std::time_t t = seconds_total.count();
  std::tm utc{};
  gmtime_r(&t, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     (milliseconds_total - seconds_total).count());
}

std::optional<WallTime> time_in(std::string_view rfc3339) {
  using namespace std::chrono;
  const std::string text(rfc3339);
  std::tm utc{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (rest == nullptr) return std::nullopt;
  const auto whole = system_clock::from_time_t(::timegm(&utc));
  const std::string_view zone(rest);
  if (zone == "Z") return whole;
  char* end = nullptr;
  const double fraction = zone.starts_with('.') ? std::strtod(rest, &end) : 0;
  if (end == nullptr || std::string_view(end) != "Z") return std::nullopt;
  return whole + round<milliseconds>(duration<double>(fraction));
}

std::string time_text(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

std::string moment_text(WallTime time, WallTime beside) {
  const std::string text = time_text(time);
  return text.substr(time_text(beside).starts_with(text.substr(0, date_length)) ? date_length : 0);
}

std::string duration_text(std::chrono::nanoseconds duration) {
  using namespace std::chrono;
  const auto ms = duration_cast<milliseconds>(duration).count();
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 60'000) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000.0);
  const auto s = ms / 1000;
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  constexpr std::int64_t two_days_s = 2 * 24 * 3600;
  if (s < two_days_s) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {:02} h", s / (24 * 3600), s / 3600 % 24);
}

}  // namespace toprun
