#include "scheduler/user_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "process/command.h"

namespace toprun::scheduler {

std::string user_name(const Environment& environment, std::chrono::milliseconds limit) {
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (auto name = environment.non_empty(variable)) return *std::move(name);
  }
  const auto told = process::output_of({"id", "-un"}, environment, limit);
  const std::string name(told ? trim(*told) : std::string_view());
  return name.empty() ? fmt::format("uid-{}", ::getuid()) : name;
}

}  // namespace toprun::scheduler
