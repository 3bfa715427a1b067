#pragma once

#include <exception>

namespace toprun {

// From now on an exception that nobody catches, on whatever thread, ends the process with one line
// and exit_failure: a constructor of a library or of std::thread has no other way to say that the
// system gave it nothing. Child processes that are forked inherit this. Call it first in main().
void explain_uncaught_exceptions();

// How a coroutine ends that nobody waits for: an exception in it is nobody's to catch, and must not
// end it without a word.
inline void end_of_task(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

}  // namespace toprun
