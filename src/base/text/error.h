#pragma once

#include <fmt/format.h>

#include <cstdint>
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

// The kinds of errors that callers distinguish. For `other`, callers do nothing special: they only
// pass the error on.
enum class ErrorKind : std::uint8_t {
  other,
  out_of_reach,  // this host is not set up for the service that was asked
};

// An error message for users. An Error has only the size of one pointer, because results with
// errors are returned at a thousand places in the code. If each Result contained three strings, the
// program would be 3 % larger.
class Error {
 public:
  // All texts are whole phrases in the user's terms, without a trailing full stop; `why` and `fix`
  // may be empty.
  struct Parts {
    std::string what;  // what failed and where: host, rank, file:line:column
    std::string why;
    std::string fix;  // what to do next
    int exit_code = exit_failure;
    ErrorKind kind = ErrorKind::other;
  };

  Error() = default;  // no text, as an Error that was moved from
  Error(std::string_view what, std::string_view why, std::string_view fix = {},
        int exit_code = exit_failure);
  Error(const Error& other);
  Error(Error&& other) noexcept : parts_(std::exchange(other.parts_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(parts_, other.parts_);
    return *this;
  }
  ~Error() {
    if (parts_ != nullptr) release();
  }

  const Parts* operator->() const;
  Parts* operator->();

  // Returns "what: why; fix" on one line. Control characters are escaped, because names from users
  // may contain them.
  std::string line() const;

 private:
  void release() noexcept;

  Parts* parts_ = nullptr;
};

template <class T>
using Result = std::expected<T, Error>;

std::unexpected<Error> fail(std::string_view what, std::string_view why = {},
                            std::string_view fix = {});
std::unexpected<Error> usage(std::string_view what, std::string_view why = {},
                             std::string_view fix = {});

// Evaluates to the value of a Result. If the Result has an error, TRY returns the error from the
// calling function:
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

// Returns an error with this `what` for a failed system call. The reason is the text for errno (or
// for `code`).
std::unexpected<Error> fail_errno(std::string_view what, std::string_view fix = {});
std::unexpected<Error> fail_errno(int code, std::string_view what, std::string_view fix = {});

// Returns the text of an errno value, such as "No such file or directory".
std::string errno_text(int code);

}  // namespace toprun
