#include "base/console.h"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace toprun {

void say(std::string_view text) {
  std::string line = "toprun: ";
  line += text;
  line += '\n';
  say_block(line);
}

void say_block(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace toprun
