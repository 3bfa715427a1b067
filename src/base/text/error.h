#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <string_view>

namespace toprun {

// Exit codes that are toprun's own; any other code is a worker's (docs/guides/running.md).
inline constexpr int exit_failure = 1;  // toprun's own failure: join time-out, node lost, refused …
inline constexpr int exit_usage = 2;    // the command line or a file it names is wrong
inline constexpr int exit_preempted =
    75;  // the engine took the nodes away; the job may be started again

// What a user reads when something fails. All parts are whole phrases in the user's words, without
// a trailing full stop; `why` and `fix` may be empty.
struct Error {
  std::string what;  // what failed and where: host, rank, file:line:column
  std::string why;
  std::string fix;  // what to do next
  int exit_code = exit_failure;

  // "what: why; fix" on one line: control characters in names that users gave are escaped.
  std::string line() const;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string what, std::string why = {}, std::string fix = {}) {
  return std::unexpected(Error{std::move(what), std::move(why), std::move(fix), exit_failure});
}

inline std::unexpected<Error> usage(std::string what, std::string why = {}, std::string fix = {}) {
  return std::unexpected(Error{std::move(what), std::move(why), std::move(fix), exit_usage});
}

// For a failed system call: `what` and the text of errno (or of `code`) as the reason.
std::unexpected<Error> fail_errno(std::string what, std::string fix = {});
std::unexpected<Error> fail_errno(int code, std::string what, std::string fix = {});

// The text of an errno value, such as "No such file or directory".
std::string errno_text(int code);

}  // namespace toprun
