#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "bench/tables/import.h"
#include "bench/tables/json.h"

namespace {

using namespace toprun::bench;

bool is_figure(double value) {
  return std::isfinite(value) && value >= 0;
}

bool is_sound(const std::optional<Side>& side) {
  return !side ||
         (is_figure(side->algbw) && is_figure(side->busbw) && is_figure(side->times.mean_us));
}

}  // namespace

// Whatever is read holds only figures, and comes back from our own JSON as it was.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report =
      import_report({reinterpret_cast<const char*>(data), size}, {"file", std::nullopt});
  if (!report) return 0;
  for (const Series& series : report->series) {
    for (const Row& row : series.rows) {
      if (!is_sound(row.out_of_place) || !is_sound(row.in_place)) std::abort();
    }
  }
  const std::string json = report_json(*report);
  const auto again = parse_report(json, "file");
  if (!again || report_json(*again) != json) std::abort();
  return 0;
}
