#include "engines/refusal.h"

#include <mutex>
#include <set>
#include <string>

#include "base/os/console.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::engines {

Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices) {
  const auto said = complaint(stderr_text, most_refusal_lines);
  Error error{std::string(command), said.empty() ? "it gave no reason" : join(said, "; "), "",
              exit_failure};
  for (const Advice& advice : advices) {
    if (stderr_text.find(advice.words) == std::string_view::npos) continue;
    error->fix = advice.fix;
    break;
  }
  return error;
}

void pass_on_warnings(std::string_view err) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> reported;
  const std::scoped_lock lock(mutex);
  for (const std::string_view line : split(err, '\n')) {
    const std::string_view text = trim(line);
    if (!text.empty() && reported.emplace(text).second) say_block(printable(text) + '\n');
  }
}

}  // namespace toprun::engines
