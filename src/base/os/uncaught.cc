#include "base/os/uncaught.h"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <system_error>

#include <boost/system/system_error.hpp>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun {
namespace {

constexpr std::string_view no_memory =
    "toprun: out of memory; raise the limit (ulimit -v), or free some\n";

std::string remedy(const std::error_code& code) {
  if (code == std::errc::too_many_files_open || code == std::errc::too_many_files_open_in_system) {
    return more_open_files;
  }
  if (code == std::errc::resource_unavailable_try_again) {
    return "raise the limits on processes (ulimit -u) and on memory (ulimit -v)";
  }
  return "";
}

void say_why(const std::error_code& code) {
  say(Error{"cannot go on", code.message(), remedy(code)}.line());
}

void explain(const std::exception_ptr& uncaught) {
  try {
    std::rethrow_exception(uncaught);
  } catch (const boost::system::system_error& error) {
    say_why(error.code());
  } catch (const std::system_error& error) {
    say_why(error.code());
  } catch (const std::bad_alloc&) {
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, no_memory.data(), no_memory.size());
  } catch (const std::exception& error) {
    say(Error{"cannot go on", error.what(), "please report this defect of toprun"}.line());
  }
}

bool takes_output(int fd) {
  pollfd output{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLOUT) != 0;
}

[[noreturn]] void end() {
  const std::exception_ptr uncaught = std::current_exception();
  if (!uncaught) std::abort();  // no exception: the core dump says more
  // This thread may have failed inside the sink, so stop using the sink; it may be the one that
  // writes, so that what is to be written never will be. If a terminal accepts no output, exit
  // without a message, because writing would block.
  if (flush_said() || takes_output(STDERR_FILENO)) {
    set_log_sink(nullptr);
    explain(uncaught);
  }
  ::_exit(exit_failure);
}

}  // namespace

void explain_uncaught_exceptions() {
  std::set_terminate(end);
}

}  // namespace toprun

// The library's own handler, which end() replaces, would bring a demangler of 45 KB into the
// program.
void __gnu_cxx::__verbose_terminate_handler() {
  std::abort();
}
