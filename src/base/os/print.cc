#include "base/os/print.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/os/console.h"
#include "base/os/write_all.h"
#include "base/text/utf8.h"

namespace toprun {

int print(std::string_view text) {
  return print_bytes(printable_lines(text));
}

int print_bytes(std::string_view bytes) {
  if (write_all(STDOUT_FILENO, bytes)) return 0;
  if (errno == EPIPE) return 128 + SIGPIPE;  // the reader, such as head, has enough
  say("cannot write to stdout: " + errno_text(errno));
  return exit_failure;
}

int give_up(const Error& error) {
  say(error.line());
  return error->exit_code;
}

}  // namespace toprun
