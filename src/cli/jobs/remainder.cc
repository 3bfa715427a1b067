#include "cli/jobs/remainder.h"

#include <fmt/format.h>

#include <utility>

namespace toprun::jobs {
namespace {

// A log may have millions of lines, so only their hashes are kept.
std::size_t hash_of(std::string_view line) {
  return std::hash<std::string_view>()(line);
}

}  // namespace

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
  waiting_bytes_ += shown.size();
  waiting_.push_back({hash_of(line), std::move(shown), now});
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
  std::erase_if(waiting_, [&](const Waiting& line) {
    const bool twin = take_twin(older_, line.hash) || take_twin(younger_, line.hash);
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
