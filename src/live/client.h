#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "live/server.h"

namespace toprun::live {

inline constexpr std::size_t most_answer_bytes = 256u << 20;  // the report of 100,000 ranks

// Asks the job at this socket. nullopt: nobody listens there. Blocks for `limit` at most.
Result<std::optional<Answer>> ask(const std::filesystem::path& socket, const Question& question,
                                  std::chrono::milliseconds limit);

// The same of an answer that goes on: its body is read from here, until its end.
Result<std::optional<Fd>> follow(const std::filesystem::path& socket, const Question& question,
                                 std::chrono::milliseconds limit);

}  // namespace toprun::live
