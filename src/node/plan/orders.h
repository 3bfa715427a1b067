#pragma once

#include <optional>
#include <string>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "node/plan/job.h"

namespace toprun::plan {

// This variable is set for an agent that toprun's own launcher started. The standard input of such
// an agent comes from the launcher: first the line "secret HEX", then "signal N" lines. End of file
// means that the launcher has ended.
inline constexpr std::string_view step_variable = "TOPRUN_STEP";
// This variable is set for a toprun on a job's node. This toprun must become the shell that the
// variable names.
inline constexpr const char* entered_shell_variable = "TOPRUN_SHELL";
inline constexpr std::chrono::seconds orders_timeout{30};
// If an agent receives nothing from its launcher for this time, it treats the launcher as lost.
inline constexpr std::chrono::seconds launcher_silence_limit{30};
// The time limit for an agent that ssh started, while it waits for the other hosts to answer or
// fail.
inline constexpr std::chrono::seconds login_orders_timeout{600};

struct Orders {
  bool from_launcher = false;
  std::optional<std::string> secret;
};

// Reads a line of at most 1024 bytes and returns it without its newline. The bytes after the line
// stay unread.
Result<std::string> read_orders_line(int fd, SteadyTime deadline);
Result<std::string> read_orders_bytes(int fd, std::size_t count, SteadyTime deadline);

// Reads the line "secret HEX" from stdin. Blocks for at most `orders_timeout`.
Result<std::string> receive_secret();

// Reads the secret, if toprun's launcher wrote a secret. Blocks for at most `orders_timeout`.
Result<Orders> receive_orders(const Job& job);

}  // namespace toprun::plan
