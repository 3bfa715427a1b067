#include "engines/program_words.h"

namespace toprun::engines {

std::vector<std::string> after_options(const std::vector<std::string>& program) {
  const bool needs_separator =
      program.front().starts_with('-') || (program.size() > 1 && program[1] == "--");
  std::vector<std::string> words;
  if (needs_separator) words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

}  // namespace toprun::engines
