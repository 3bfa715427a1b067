#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "observe/live/server.h"

namespace toprun::live {

inline constexpr std::size_t most_answer_bytes = 256u << 20;  // the report of 100,000 ranks

struct Reply {
  unsigned status = 200;
  std::string body;
  pid_t pid = 0;  // of the root agent; 0: its process ids are not ours
};

// Asks the job at this socket. nullopt: nothing listens there. Error: it does not answer, or it is
// another user's. Blocks for `limit` at most.
Result<std::optional<Reply>> ask(const std::filesystem::path& socket, const Question& question,
                                 std::chrono::milliseconds limit);

// The same of an answer that goes on: its body is read from here, until its end.
Result<std::optional<Fd>> follow(const std::filesystem::path& socket, const Question& question,
                                 std::chrono::milliseconds limit);

}  // namespace toprun::live
