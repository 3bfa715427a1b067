#include "base/console.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/console_copy.h"

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

void say(std::string_view text) {
  std::string line = "toprun: ";
  line += text;
  line += '\n';
  say_block(line);
}

void say_block(std::string_view text) {
  write_all(STDERR_FILENO, text);
  if (copy_fd >= 0) write_all(copy_fd, text);
}

void say_also_to(int fd) {
  copy_fd = fd;
}

}  // namespace toprun
