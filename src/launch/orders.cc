#include "launch/orders.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"

namespace toprun::launch {
namespace {

constexpr std::size_t max_orders_line_bytes = 1024;
constexpr std::string_view secret_word = "secret ";

// One byte at a time, so that nothing behind the line is taken from whoever reads on.
Result<std::string> read_line(int fd, SteadyTime deadline) {
  std::string line;
  while (line.size() < max_orders_line_bytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd poller{fd, POLLIN, 0};
    const int ready = ::poll(&poller, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("cannot read the launcher's orders");
    if (ready == 0) return fail("no orders from the launcher", "it wrote nothing in time");
    char byte = 0;
    const ssize_t n = ::read(fd, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("no orders from the launcher", "it closed standard input");
    if (byte == '\n') return line;
    line += byte;
  }
  return fail("no orders from the launcher", "what it wrote is not a line");
}

}  // namespace

Result<Orders> receive_orders(const Job& job) {
  if (!job.environment.has(step_variable)) return Orders{};
  const auto line = read_line(STDIN_FILENO, std::chrono::steady_clock::now() + orders_timeout);
  if (!line) return std::unexpected(line.error());
  if (!line->starts_with(secret_word)) {
    return fail("no orders from the launcher", "standard input does not begin with a secret",
                std::string("unset ") + std::string(step_variable));
  }
  return Orders{true, line->substr(secret_word.size())};
}

}  // namespace toprun::launch
