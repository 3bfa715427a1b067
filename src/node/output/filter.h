#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// Selects the lines of one stream that contain a needle, for torchrun's filtered_stdout.log. Each
// becomes prefix, line and \n, whichever line end it had.
class Filter {
 public:
  static constexpr std::size_t longest_line_bytes = 64 * 1024;  // a longer line is split

  Filter(std::vector<std::string> needles, std::string prefix)
      : needles_(std::move(needles)), prefix_(std::move(prefix)) {}

  // Takes printed text; keeps an unfinished line for the next call.
  std::string add(std::string_view text);
  // The unfinished line, if it contains a needle.
  std::string flush();

 private:
  bool matches(std::string_view text) const;
  void append_if_matching(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string begun_;
};

}  // namespace toprun::output
