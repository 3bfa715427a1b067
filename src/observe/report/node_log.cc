#include <fmt/format.h>

#include <algorithm>

#include "observe/report/report.h"

namespace toprun::report {

std::string node_log_path(std::string_view folder, std::string host) {
  std::ranges::replace(host, '/', '_');
  return fmt::format("{}/{}.out", folder, host);
}

}  // namespace toprun::report
