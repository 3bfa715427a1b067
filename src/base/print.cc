#include "base/print.h"

#include <unistd.h>

#include <cerrno>

#include "base/console.h"
#include "base/utf8.h"

namespace toprun {

int print(std::string_view text) {
  return print_bytes(printable_lines(text));
}

int print_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      say("cannot write to stdout: " + errno_text(errno));
      return exit_failure;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

int give_up(const Error& error) {
  say(error.line());
  return error.exit_code;
}

}  // namespace toprun
