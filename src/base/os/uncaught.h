#pragma once

#include <exception>

namespace toprun {

// From now on an uncaught exception on any thread ends the process with one line and exit_failure:
// constructors of libraries and of std::thread can report missing resources only by exceptions.
// Forked children inherit this. Call it first in main().
void explain_uncaught_exceptions();

// The completion handler of detached coroutines: nothing can catch their exceptions, which must not
// end them silently.
inline void end_of_task(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

}  // namespace toprun
