#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/text/error.h"

namespace toprun::engines {

inline constexpr std::size_t most_refusal_lines = 4;  // of what a program says

// What to do where a program that failed has said these words.
struct Advice {
  std::string_view words;
  std::string_view fix;
};

// What a program of an engine's that failed says on stderr, a few lines of it on one (complaint.h),
// and what to do about it: the first advice whose words it said. Pure.
Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices);

}  // namespace toprun::engines
