#include "node/worker/exit_evidence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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

constexpr ino_t first_pid_namespace = 0xeffffffc;  // PROC_PID_INIT_INO, include/linux/proc_ns.h
constexpr int most_records_at_once = 4096;
constexpr std::size_t most_kept_bytes = 64 * 1024;
constexpr std::size_t longest_record_bytes = 8192;
constexpr std::size_t longest_shown_bytes = 160;
constexpr std::string_view killed = "Killed process ";

// The kernel's log uses ids of the first namespace; in a container they name other processes.
bool ids_are_the_kernels() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == first_pid_namespace;
}

std::optional<std::int64_t> read_count(const std::string& counter) {
  const auto text = read_file(counter);
  return text ? oom_kills(*text) : std::nullopt;
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
  if (!json.is_object()) return fail("the rank's error file is not a JSON object");
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

OomWatch::OomWatch() {
  if (ids_are_the_kernels()) {
    log_ = Fd(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (log_) ::lseek(log_.get(), 0, SEEK_END);
  }
  counter_ = oom_counter(read_file("/proc/self/cgroup").value_or(""));
  const auto count = read_count(counter_);
  if (!count) counter_.clear();
  before_ = count.value_or(0);
}

std::string OomWatch::evidence(pid_t pid) {
  if (const std::string text = logged(pid); !text.empty()) {
    return fmt::format(
        "the kernel's out-of-memory killer ended it: {}",
        printable(text.substr(0, std::min(text.find(", file-rss"), longest_shown_bytes))));
  }
  const std::int64_t count = counter_.empty() ? 0 : read_count(counter_).value_or(0);
  if (count <= before_) return {};
  return fmt::format(
      "the kernel's out-of-memory killer ended {} of its memory cgroup's processes meanwhile ({})",
      count - before_, counter_);
}

std::string OomWatch::logged(pid_t pid) {
  char record[longest_record_bytes];
  for (int i = 0; log_ && i < most_records_at_once && seen_.size() < most_kept_bytes; ++i) {
    const ssize_t n = ::read(log_.get(), record, sizeof record);
    if (n < 0 && errno == EPIPE) continue;  // records were overwritten: read the next one
    if (n <= 0) break;
    const std::string_view text = oom_text({record, static_cast<std::size_t>(n)});
    if (!text.empty()) seen_.append(text).push_back('\n');
  }
  for (const std::string_view text : split(seen_, '\n')) {
    if (names_victim(text, pid)) return std::string(text);
  }
  return {};
}

std::optional<std::int64_t> oom_kills(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = words(line);
    if (fields.size() == 2 && fields[0] == "oom_kill") return parse_int(fields[1]);
  }
  return std::nullopt;
}

std::string oom_counter(std::string_view cgroups) {
  std::string v2;
  for (const std::string_view line : split(cgroups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    std::string_view path = line.substr(second + 1);
    if (path == "/") path = "";
    if (line.substr(first + 1, second - first - 1) == "memory") {
      return fmt::format("/sys/fs/cgroup/memory{}/memory.oom_control", path);
    }
    if (line.starts_with("0::")) v2 = fmt::format("/sys/fs/cgroup{}/memory.events", path);
  }
  return v2;
}

std::string_view oom_text(std::string_view record) {
  const std::size_t header = record.find(';');
  if (header == record.npos) return {};
  const std::string_view text = record.substr(header + 1, record.find('\n') - header - 1);
  return text.find(killed) != text.npos ? text : std::string_view{};
}

bool names_victim(std::string_view text, pid_t pid) {
  const std::size_t at = text.find(killed);
  if (at == text.npos) return false;
  const std::string_view id = text.substr(at + killed.size());
  return parse_int(id.substr(0, id.find(' '))) == pid;
}

}  // namespace toprun::worker
