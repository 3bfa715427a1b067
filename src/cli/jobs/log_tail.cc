#include "cli/jobs/log_tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/os/fd.h"

namespace toprun::jobs {
namespace {

constexpr std::size_t bytes_at_once = 1u << 20;

// A log may have millions of lines, so only their hashes are kept.
std::size_t hash_of(std::string_view line) {
  return std::hash<std::string_view>()(line);
}

// Where a message of Slurm's programs begins behind an unfinished line of a rank; npos: nowhere.
std::size_t message_within(std::string_view line) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view word : {"slurmstepd-", "slurmstepd: ", "srun: "}) {
    first = std::min(first, line.find(word, 1));
  }
  return first;
}

}  // namespace

LogTail::LogTail(std::string path, std::string prefix, bool whole_lines, LineFilter filter)
    : path_(std::move(path)),
      prefix_(std::move(prefix)),
      whole_lines_(whole_lines || !prefix_.empty() || filter),
      filter_(std::move(filter)) {}

bool LogTail::read_new(std::string& text) {
  text.clear();
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const bool other = status.st_ino != inode_;
  if (other || static_cast<std::uint64_t>(status.st_size) < offset_) offset_ = 0;
  inode_ = status.st_ino;
  std::string bytes(bytes_at_once, '\0');
  const ssize_t n = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
  if (n <= 0) return false;
  offset_ += static_cast<std::uint64_t>(n);
  bytes.resize(static_cast<std::size_t>(n));
  text = shown(bytes);
  return true;
}

std::string LogTail::shown_line(std::string_view line) const {
  return filter_ && !filter_(line) ? std::string() : fmt::format("{}{}\n", prefix_, line);
}

std::string LogTail::shown(std::string_view bytes) {
  if (!whole_lines_) {
    ended_ = bytes.ends_with('\n');
    return std::string(bytes);
  }
  std::string out;
  begun_ += bytes;
  std::string_view left = begun_;
  for (;;) {
    std::size_t end = left.find('\n');
    if (end == std::string_view::npos && left.size() < max_line_bytes) break;
    end = std::min(end, max_line_bytes);
    out += shown_line(left.substr(0, end));
    left.remove_prefix(end < left.size() && left[end] == '\n' ? end + 1 : end);
  }
  begun_ = std::string(left);
  return out;
}

std::string LogTail::rest() {
  if (!whole_lines_) return std::exchange(ended_, true) ? std::string() : "\n";
  if (begun_.empty()) return {};
  return shown_line(std::exchange(begun_, {}));
}

std::string LastLines::add(std::string text) {
  if (!most_) return text;
  held_ += text;
  if (held_.size() < bytes_at_once) return {};
  held_ = take();
  return {};
}

std::string LastLines::take() {
  std::size_t begin = held_.size();
  for (std::size_t left = most_.value_or(0); left > 0 && begin > 0; --left) {
    const std::size_t end = begin - 1;  // the line's last byte
    const std::size_t before = end == 0 ? std::string::npos : held_.rfind('\n', end - 1);
    begin = before == std::string::npos ? 0 : before + 1;
  }
  return std::exchange(held_, {}).substr(begin);
}

void Remainder::add_host_line(std::string_view line) {
  const std::size_t hash = hash_of(line);
  if (const auto known = older_.find(hash); known != older_.end()) {
    ++known->second;
    return;
  }
  ++younger_[hash];
  if (younger_.size() >= limits_.host_lines / 2) older_ = std::exchange(younger_, {});
}

void Remainder::add_engine_line(std::string_view line, std::string shown, SteadyTime now) {
  // toprun's own line starts on a new line, because the rank's line is unfinished for it.
  if (line.empty() && !waiting_.empty() && !waiting_.back().message.empty()) return;
  waiting_bytes_ += shown.size();
  Waiting added{hash_of(line), std::move(shown), now};
  const std::size_t at = message_within(line);
  if (at != std::string_view::npos) {
    const std::size_t prefix = added.shown.size() - std::min(added.shown.size(), line.size() + 1);
    added.begun = hash_of(line.substr(0, at));
    added.message = fmt::format("{}{}\n", added.shown.substr(0, prefix), line.substr(at));
  }
  waiting_.push_back(std::move(added));
}

std::function<bool(std::string_view)> Remainder::host_lines() {
  return [this](std::string_view line) {
    add_host_line(line);
    return true;
  };
}

std::function<bool(std::string_view)> Remainder::engine_lines(std::string prefix) {
  return [this, prefix = std::move(prefix)](std::string_view line) {
    add_engine_line(line, fmt::format("{}{}\n", prefix, line), std::chrono::steady_clock::now());
    return false;
  };
}

std::string Remainder::take(SteadyTime until) {
  std::string text;
  const auto has_twin = [this](std::size_t hash) {
    return take_twin(older_, hash) || take_twin(younger_, hash);
  };
  std::erase_if(waiting_, [&](Waiting& line) {
    const bool twin = has_twin(line.hash);
    if (!twin && !line.message.empty() && has_twin(line.begun)) {
      waiting_bytes_ -= line.shown.size() - line.message.size();
      line.shown = std::exchange(line.message, {});
    }
    if (!twin && line.read > until && waiting_bytes_ <= limits_.waiting_bytes) return false;
    waiting_bytes_ -= line.shown.size();
    if (!twin) text += line.shown;
    return true;
  });
  return text;
}

bool Remainder::take_twin(Counts& counts, std::size_t hash) {
  const auto twin = counts.find(hash);
  if (twin == counts.end()) return false;
  if (--twin->second == 0) counts.erase(twin);
  return true;
}

}  // namespace toprun::jobs
