#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::topology {

// A position in a text, line and column from 1.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

// Returns "racks.toml:3:5", the form in errors.
inline std::string at(std::string_view file, Position position) {
  return fmt::format("{}:{}:{}", file, position.line, position.column);
}

// Returns "racks.toml:3", the form in evidence.
inline std::string at_line(std::string_view file, std::size_t line) {
  return fmt::format("{}:{}", file, line);
}

// Where a fact was read, for messages: "SLURM_TOPOLOGY_ADDR", "topology.conf:3". All Evidence
// objects of a file share one copy of the file's name, because a file may describe 100,000 hosts,
// one per line.
class Evidence {
 public:
  Evidence() = default;
  Evidence(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  Evidence(const char* text) : Evidence(std::string(text)) {}
  Evidence(std::shared_ptr<const std::string> file, std::size_t line)
      : text_(std::move(file)), line_(line) {}

  bool empty() const { return !text_ || text_->empty(); }
  // Returns the source without a line number.
  std::string_view source() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  std::string text() const { return line_ == 0 ? std::string(source()) : at_line(source(), line_); }
  friend bool operator==(const Evidence& a, const Evidence& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> text_;
  std::size_t line_ = 0;  // 0: no line number
};

// Counts problems of one kind, and keeps the first one's text. So one warning can cover all of
// them. `make` makes a problem's text, and is called for the first one only: a file may have
// 100,000.
struct Tally {
  std::size_t count = 0;
  std::string first;

  template <class Make>
  void add(Make make) {
    if (count++ == 0) first = make();
  }
  std::string text(std::string_view things) const {
    return count == 1 ? first : fmt::format("{} ({} such {})", first, count, things);
  }
  // Adds text() to `warnings`, unless nothing was counted.
  void warn(std::vector<std::string>& warnings, std::string_view things) const {
    if (count > 0) warnings.push_back(text(things));
  }
};

}  // namespace toprun::topology
