#include <cstdint>

#include "cli/jobs/job_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)toprun::jobs::parse_report({reinterpret_cast<const char*>(data), size});
  return 0;
}
