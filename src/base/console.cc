#include "base/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/console_copy.h"
#include "base/text.h"
#include "base/utf8.h"

namespace toprun {
namespace {

int copy_fd = -1;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

// All that toprun itself says goes through these two, which make it harmless to a terminal: names,
// reasons and refusals come from other hosts, files and strangers. What ranks print goes elsewhere
// (agent/console.h), byte for byte.
void say(std::string_view text) {
  say_block(fmt::format("toprun: {}\n", printable(text)));
}

void say_block(std::string_view text) {
  const std::string shown = printable_lines(text);
  write_all(STDERR_FILENO, shown);
  if (copy_fd >= 0) write_all(copy_fd, shown);
}

void say_also_to(int fd) {
  copy_fd = fd;
}

}  // namespace toprun
