#include "engines/refusal.h"

#include <string>

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

}  // namespace toprun::engines
