#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/text/error.h"

namespace toprun::engines {

inline constexpr std::size_t most_refusal_lines = 4;  // of a program's output

// What to do if a failed program printed these words.
struct Advice {
  std::string_view words;
  std::string_view fix;
};

// The stderr output of a failed engine program, a few lines joined into one (complaint.h), and what
// to do about it. The first advice whose words occur in the output applies. Pure function.
Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices);

}  // namespace toprun::engines
