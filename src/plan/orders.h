#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "plan/job.h"

namespace toprun::plan {

// The marker that tells an agent that our own starter began it, and that its standard input is the
// starter's: first the line "secret HEX", then "signal N" lines; its end is the starter's end.
inline constexpr std::string_view step_variable = "TOPRUN_STEP";
// In the environment of a toprun on a job's node, which is to become this shell.
inline constexpr const char* entered_shell_variable = "TOPRUN_SHELL";
inline constexpr std::chrono::seconds orders_timeout{30};
// An agent that ssh started waits until all other hosts have answered or failed to.
inline constexpr std::chrono::seconds ssh_orders_timeout{600};

struct Orders {
  bool from_launcher = false;
  std::optional<std::string> secret;
};

// A line without its end, of 1024 bytes at most; nothing behind it is taken.
Result<std::string> read_orders_line(int fd, SteadyTime deadline);
Result<std::string> read_orders_bytes(int fd, std::size_t count, SteadyTime deadline);

// Reads the secret if a launcher of ours wrote one; blocks at most `orders_timeout`.
Result<Orders> receive_orders(const Job& job);

}  // namespace toprun::plan
