#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// Picks of one stream's lines those that hold a needle, for torchrun's filtered_stdout.log: prefix,
// line, \n, whatever the line ended with.
class Filter {
 public:
  static constexpr std::size_t longest_line_bytes = 64 * 1024;  // longer ones are several

  Filter(std::vector<std::string> needles, std::string prefix)
      : needles_(std::move(needles)), prefix_(std::move(prefix)) {}

  // Takes what the stream printed; what does not end a line is kept for the next call.
  std::string add(std::string_view text);
  // The line that was never finished, if it holds a needle.
  std::string flush();

 private:
  bool matches(std::string_view text) const;
  void append_if_matching(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string begun_;
};

}  // namespace toprun::output
