#include "engines/user_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::engines {

std::string user_name(const Environment& environment, std::chrono::milliseconds limit) {
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (auto name = environment.non_empty(variable)) return *std::move(name);
  }
  const auto reported = process::output_of({"id", "-un"}, environment, limit);
  const std::string name(reported ? trim(*reported) : std::string_view());
  return name.empty() ? fmt::format("uid-{}", ::getuid()) : name;
}

}  // namespace toprun::engines
