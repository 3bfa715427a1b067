// Whatever a host prints where its report is expected.
#include <cstddef>
#include <cstdint>

#include "base/text/text.h"
#include "machine/doctor/facts.h"
#include "machine/doctor/host_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)doctor::parse_gpus(text);
  doctor::HostReports reports;
  for (const std::string_view line : split(text, '\n')) reports.take(line, {});
  (void)doctor::compare(reports.complete(), {});
  return 0;
}
