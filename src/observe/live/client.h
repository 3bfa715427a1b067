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

inline constexpr std::size_t most_answer_bytes = 256u << 20;  // enough for /report of 100,000 ranks

struct Reply {
  unsigned status = 200;
  std::string body;
  pid_t pid = 0;  // the root agent's process id; 0: it is in another PID namespace
};

// Queries the job at this socket. nullopt: no process listens on it. Error: the process does not
// answer, or belongs to another user. Blocks for at most `limit`.
Result<std::optional<Reply>> ask(const std::filesystem::path& socket, const Question& question,
                                 std::chrono::milliseconds limit);

// Queries the job like ask(), for an answer of unknown length. Returns the socket, from which the
// caller reads the body.
Result<std::optional<Fd>> follow(const std::filesystem::path& socket, const Question& question,
                                 std::chrono::milliseconds limit);

}  // namespace toprun::live
