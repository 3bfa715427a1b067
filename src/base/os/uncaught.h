#pragma once

#include <exception>

namespace toprun {

// From now on, an uncaught exception on any thread ends the process with one line and exit_failure.
// Constructors of libraries and of std::thread can report missing resources only by exceptions.
// Forked children inherit this behaviour. Call this function first in main().
void explain_uncaught_exceptions();

// The completion handler for detached coroutines. Callers cannot catch the exceptions of a detached
// coroutine. This handler rethrows the exceptions, so that a failure is not silent.
inline void end_of_task(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

}  // namespace toprun
