#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/text/error.h"

namespace toprun::engines {

inline constexpr std::size_t most_refusal_lines = 4;  // of a program's output

// What to do if a program failed and printed these words.
struct Advice {
  std::string_view words;
  std::string_view fix;
};

// An error with the stderr output of an engine program that failed, a few lines joined into one
// (base/text/shown_line.h), and with the advice. The first advice whose words occur in the output
// applies. Pure function.
Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices);

// Shows the stderr output of a Slurm program that succeeded, such as a site's news or an option
// that will be removed. Each process shows each line only once. Thread-safe.
void pass_on_warnings(std::string_view err);

}  // namespace toprun::engines
