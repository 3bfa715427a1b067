#include "decide/hang/alarm.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace toprun::hang {
namespace {

constexpr std::string_view dump_key = "exception_dump";
constexpr std::string_view error_key = "remote_error";
// The group whose ranks are the job's.
constexpr std::string_view default_group = "0";

std::optional<int> rank_in(std::string_view value) {
  std::int32_t rank = 0;
  if (value.size() != sizeof rank) return std::nullopt;
  std::memcpy(&rank, value.data(), sizeof rank);
  return rank >= 0 ? std::optional<int>(rank) : std::nullopt;
}

}  // namespace

std::optional<Alarm> alarm_in(std::string_view key, std::string_view value) {
  const std::size_t slash = key.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (name == dump_key && (slash == 0 || slash == std::string_view::npos)) {
    return Alarm{Alarm::Kind::exception_dump, rank_in(value)};
  }
  const bool is_error =
      name.starts_with(error_key) && name.substr(error_key.size()).starts_with(':');
  if (!is_error || slash == 0 || slash == std::string_view::npos) return std::nullopt;
  const bool of_all = name.substr(error_key.size() + 1) == default_group;
  return Alarm{Alarm::Kind::remote_error, of_all ? rank_in(value) : std::nullopt};
}

std::string_view name_of(Alarm::Kind kind) {
  return kind == Alarm::Kind::exception_dump ? dump_key : error_key;
}

bool read_alarm_kind(std::string_view name, Alarm::Kind& kind) {
  kind = name == dump_key ? Alarm::Kind::exception_dump : Alarm::Kind::remote_error;
  return name == name_of(kind);
}

std::string text_of(const Alarm& alarm) {
  return fmt::format("{} wrote {}", alarm.rank ? fmt::format("rank {}", *alarm.rank) : "a rank",
                     name_of(alarm.kind));
}

}  // namespace toprun::hang
