#include "node/worker/error_file.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/files.h"
#include "base/os/timer.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::worker {
namespace {

constexpr std::size_t longest_message_bytes = 8000;
constexpr std::chrono::seconds time_stamp_resolution{1};
// A time stamp above this many seconds (the year 2223) is in milli-, micro- or nanoseconds.
constexpr double latest_second = 8e9;
constexpr double latest_nanosecond = latest_second * 1e9;

// The time stamp of an error file in seconds since 1970: a number, or a number in quotes. Nullopt
// if it is missing or invalid.
std::optional<std::int64_t> time_stamp(const nlohmann::json& object) {
  const nlohmann::json& found = member(object, "timestamp");
  const auto in_quotes = parse_int(text_at(object, "timestamp"));
  double stamp =
      found.is_number() ? found.get<double>() : static_cast<double>(in_quotes.value_or(-1));
  if (!(stamp >= 0 && stamp <= latest_nanosecond)) return std::nullopt;
  while (stamp > latest_second) stamp /= 1000;
  return static_cast<std::int64_t>(stamp);
}

SteadyTime on_steady_clock(WallTime time, SteadyTime earliest_possible) {
  const auto age = std::chrono::system_clock::now() - time;
  const SteadyTime now = SteadyClock::now();
  const SteadyTime there = now - std::chrono::duration_cast<SteadyTime::duration>(age);
  return std::clamp(there, earliest_possible, now);
}

}  // namespace

std::optional<model::ErrorFile> parse_error_file(const std::string& text, const std::string& path,
                                                 WallTime modified, SteadyTime started) {
  const nlohmann::json json = json_in(text);
  if (!json.is_object() || !json.contains("message")) return std::nullopt;
  const auto& outer = json["message"];
  model::ErrorFile file{shown_line(path, longest_message_bytes), {}, std::nullopt};
  std::optional<std::int64_t> seconds;
  if (outer.is_string()) {
    file.message = outer;
    seconds = time_stamp(json);
  } else if (outer.is_object()) {
    file.message = text_at(outer, "message");
    seconds = time_stamp(member(outer, "extraInfo"));
  }
  if (file.message.size() > longest_message_bytes) {
    file.message = shown_line(file.message, longest_message_bytes);
  }
  if (seconds) {
    const WallTime stamped{std::chrono::seconds(*seconds)};
    const bool same_second = modified >= stamped && modified < stamped + 2 * time_stamp_resolution;
    file.raised = on_steady_clock(same_second ? modified : stamped, started);
  }
  return file;
}

Result<std::string> error_file_for_launcher(const std::string& text,
                                            const model::WorkerExit& exit) {
  nlohmann::json json = json_in(text);
  if (!json.is_object()) return fail("the error file is not a JSON object");
  if (json.contains("message") && json["message"].is_object()) {
    json["message"]["errorCode"] = exit.signal != 0 ? -exit.signal : exit.exit_code;
  }
  return json_text(json);
}

Result<void> copy_error_file(const std::string& from, const model::WorkerExit& exit,
                             const std::string& to) {
  const std::string what = "cannot copy the error file to TORCHELASTIC_ERROR_FILE=" + to;
  const auto text = read_plain_file(from);
  if (!text) return fail(what, text.error().line());
  const auto json = error_file_for_launcher(*text, exit);
  if (!json) return fail(what, json.error().line());
  std::error_code ignored;
  std::filesystem::remove(to, ignored);
  std::ofstream file(to);
  file << *json;
  if (!file.flush()) return fail_errno(what);
  return {};
}

}  // namespace toprun::worker
