#include "cli/remainder.h"

#include <fmt/format.h>

namespace toprun::cli {
namespace {

// A log may have millions of lines, so only their hashes are kept.
std::size_t hash_of(std::string_view line) {
  return std::hash<std::string_view>()(line);
}

}  // namespace

void Remainder::add_host_line(std::string_view line) {
  ++of_hosts_[hash_of(line)];
}

void Remainder::add_engine_line(std::string_view line, std::string shown, SteadyTime now) {
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
    if (const auto twin = of_hosts_.find(line.hash); twin != of_hosts_.end()) {
      if (--twin->second == 0) of_hosts_.erase(twin);
      return true;
    }
    if (line.read > until) return false;
    text += line.shown;
    return true;
  });
  return text;
}

}  // namespace toprun::cli
