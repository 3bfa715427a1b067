#include "base/text/error.h"

#include <cerrno>
#include <cstring>

#include "base/text/text.h"

namespace toprun {

Error::Error(std::string_view what, std::string_view why, std::string_view fix, int exit_code)
    : parts_(new Parts{std::string(what), std::string(why), std::string(fix), exit_code}) {}

Error::Error(const Error& other)
    : parts_(other.parts_ == nullptr ? nullptr : new Parts(*other.parts_)) {}

void Error::release() noexcept {
  delete parts_;
}

const Error::Parts* Error::operator->() const {
  static const Parts nothing;
  return parts_ == nullptr ? &nothing : parts_;
}

Error::Parts* Error::operator->() {
  if (parts_ == nullptr) parts_ = new Parts;
  return parts_;
}

std::string Error::line() const {
  const Parts& parts = *operator->();
  std::string text = parts.what;
  if (!parts.why.empty()) text += ": " + parts.why;
  if (!parts.fix.empty()) text += "; " + parts.fix;
  return printable(text);
}

std::string errno_text(int code) {
  char buffer[128];  // the GNU strerror_r returns the text
  return strerror_r(code, buffer, sizeof buffer);
}

std::unexpected<Error> fail(std::string_view what, std::string_view why, std::string_view fix) {
  return std::unexpected(Error(what, why, fix, exit_failure));
}

std::unexpected<Error> usage(std::string_view what, std::string_view why, std::string_view fix) {
  return std::unexpected(Error(what, why, fix, exit_usage));
}

std::unexpected<Error> fail_errno(int code, std::string_view what, std::string_view fix) {
  return fail(what, errno_text(code), fix);
}

std::unexpected<Error> fail_errno(std::string_view what, std::string_view fix) {
  return fail_errno(errno, what, fix);
}

}  // namespace toprun
