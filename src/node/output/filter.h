#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// Selects the lines of one stream that contain one of the search texts (needles), for torchrun's
// filtered_stdout.log. Each selected line is written as prefix, line and \n, even if it ended in
// \r.
class Filter {
 public:
  static constexpr std::size_t longest_line_bytes = 64 * 1024;  // a longer line is split

  Filter(std::vector<std::string> needles, std::string prefix)
      : needles_(std::move(needles)), prefix_(std::move(prefix)) {}

  // Adds printed text and returns the selected lines. Stores an unfinished line until the next
  // call.
  std::string add(std::string_view text);
  // Returns the unfinished line if it contains a needle.
  std::string flush();

 private:
  bool matches(std::string_view text) const;
  void append_if_matching(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string begun_;
};

}  // namespace toprun::output
