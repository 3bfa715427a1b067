#include "base/text/error.h"

#include <cerrno>
#include <cstring>

#include "base/text/text.h"

namespace toprun {

std::string Error::line() const {
  std::string text = what;
  if (!why.empty()) text += ": " + why;
  if (!fix.empty()) text += "; " + fix;
  return printable(text);
}

std::string errno_text(int code) {
  char buffer[128];  // the GNU strerror_r returns the text
  return strerror_r(code, buffer, sizeof buffer);
}

std::unexpected<Error> fail_errno(int code, std::string what, std::string fix) {
  return fail(std::move(what), errno_text(code), std::move(fix));
}

std::unexpected<Error> fail_errno(std::string what, std::string fix) {
  return fail_errno(errno, std::move(what), std::move(fix));
}

}  // namespace toprun
