#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace toprun {

// toprun's own exit codes; any other code is a worker's (docs/guides/running.md).
inline constexpr int exit_failure = 1;  // toprun's own failure: join time-out, node lost, refused …
inline constexpr int exit_usage = 2;    // the command line, or a file named in it, is wrong
inline constexpr int exit_preempted =
    75;  // the engine took the nodes away; the job may be restarted

// An error message for users. All parts are whole phrases in the user's terms, without a trailing
// full stop; `why` and `fix` may be empty.
struct Error {
  std::string what;  // what failed and where: host, rank, file:line:column
  std::string why;
  std::string fix;  // what to do next
  int exit_code = exit_failure;

  // "what: why; fix" on one line. Control characters are escaped, because names from users may
  // contain them.
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

// The value of a Result. If the Result has an error, returns that error from the calling function:
//   const auto file = TRY(open_file(path));
//   TRY(write_to(file));
// Use TRY as a whole initializer or statement. TRY does not work in coroutines, where `return` is
// not allowed.
#define TRY(...)                                                            \
  __extension__({                                                           \
    auto&& try_result = (__VA_ARGS__);                                      \
    if (!try_result) return std::unexpected(std::move(try_result).error()); \
    ::toprun::taken_value(std::forward<decltype(try_result)>(try_result));  \
  })

template <class T>
auto taken_value(T&& result) {
  if constexpr (!std::is_void_v<typename std::remove_cvref_t<T>::value_type>) {
    return *std::forward<T>(result);
  }
}

// An error for a failed system call: `what`, with the text for errno (or for `code`) as the reason.
std::unexpected<Error> fail_errno(std::string what, std::string fix = {});
std::unexpected<Error> fail_errno(int code, std::string what, std::string fix = {});

// The text of an errno value, such as "No such file or directory".
std::string errno_text(int code);

}  // namespace toprun
