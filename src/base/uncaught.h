#pragma once

namespace toprun {

// From now on an exception that nobody catches, on whatever thread, ends the process with one line
// and exit_failure: a constructor of a library or of std::thread has no other way to say that the
// system gave it nothing. Child processes that are forked inherit this. Call it first in main().
void explain_uncaught_exceptions();

}  // namespace toprun
