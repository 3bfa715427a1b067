#include "node/plan/orders.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/text/clock.h"

namespace toprun::plan {
namespace {

constexpr std::size_t max_orders_line_bytes = 1024;
constexpr std::string_view secret_word = "secret ";

// Reads the next bytes, `count` at most.
Result<std::string> read_some(int fd, std::size_t count, SteadyTime deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd poller{fd, POLLIN, 0};
    const int ready = ::poll(&poller, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("cannot read the launcher's orders");
    if (ready == 0)
      return fail("no orders from the launcher", "the launcher wrote nothing in time");
    std::string bytes(count, '\0');
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("no orders from the launcher", "the launcher closed standard input");
    bytes.resize(static_cast<std::size_t>(n));
    return bytes;
  }
}

}  // namespace

// Reads one byte at a time, so that the bytes after the line stay for the next reader.
Result<std::string> read_orders_line(int fd, SteadyTime deadline) {
  std::string line;
  while (line.size() < max_orders_line_bytes) {
    const auto byte = TRY(read_some(fd, 1, deadline));
    if (byte.front() == '\n') return line;
    line += byte;
  }
  return fail("no orders from the launcher", "the launcher's text does not end with a line end");
}

Result<std::string> read_orders_bytes(int fd, std::size_t count, SteadyTime deadline) {
  std::string bytes;
  while (bytes.size() < count) {
    const auto more = TRY(read_some(fd, count - bytes.size(), deadline));
    bytes += more;
  }
  return bytes;
}

Result<std::string> receive_secret() {
  const auto line =
      TRY(read_orders_line(STDIN_FILENO, std::chrono::steady_clock::now() + orders_timeout));
  if (line.starts_with(secret_word)) return line.substr(secret_word.size());
  return fail("no orders from the launcher", "standard input does not begin with a secret",
              std::string("unset ") + std::string(step_variable));
}

Result<Orders> receive_orders(const Job& job) {
  if (!job.environment.has(step_variable)) {
    return job.place.key.empty() ? Orders{} : Orders{false, job.place.key};
  }
  if (!job.place.hears_launcher) return Orders{};
  auto secret = TRY(receive_secret());
  return Orders{true, std::move(secret)};
}

}  // namespace toprun::plan
