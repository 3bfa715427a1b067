#include <fmt/format.h>

#include "base/text/text.h"
#include "observe/report/report.h"

namespace toprun::report {

std::string hang_text(const model::Hang& hang, std::string_view next) {
  std::string text = fmt::format("toprun: {}\n", printable(model::headline(hang)));
  for (const std::string& line : hang.lines) text += "  " + printable(line) + "\n";
  if (!next.empty()) text += fmt::format("  {}\n", next);
  return text;
}

}  // namespace toprun::report
