#include <fmt/format.h>

#include "base/text/text.h"
#include "bench/tables/compare.h"
#include "bench/tables/figures.h"
#include "bench/tables/live_table.h"

namespace toprun::bench {
namespace {

// size, backend, order, nodes, ranks, time, busbw, share of the limit, ratio
constexpr auto comparison_columns = "{:>9}  {:<9}  {:<9}  {:>5}  {:>5}  {:>11}  {:>8}  {:>5}  {}\n";

std::string ratio_text(const std::optional<Ratio>& ratio) {
  if (!ratio) return "1";
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio->value, ratio->low, ratio->high);
}

std::string share_of_limit(const Series& series, const Side& side) {
  if (!series.limit_gbps) return "-";
  return fmt::format("{:.0f} %", 100 * gbps_of(side.busbw) / *series.limit_gbps);
}

std::string over_text(const Series& series) {
  return series.fabric.empty() ? series.backend : series.backend + " " + series.fabric;
}

}  // namespace

std::string comparison_heading(const Series& first) {
  return fmt::format("{}, in turns\n", facts_of(first.collective).name) +
         fmt::format(comparison_columns, "size", "over", "order", "nodes", "ranks", "time", "busbw",
                     "limit", "ratio of times") +
         fmt::format(comparison_columns, "", "", "", "", "", "", "GB/s", "", "");
}

std::string comparison_row(const Series& series, const Row& row,
                           const std::optional<Ratio>& ratio) {
  const Side* const side = side_of(row);
  if (side == nullptr) return {};
  return fmt::format(comparison_columns, size_text(row.bytes), printable(over_text(series)),
                     printable(series.order), series.nodes, series.ranks,
                     time_text(side->times.mean_us), rate_text(side->busbw),
                     share_of_limit(series, *side), ratio_text(ratio));
}

}  // namespace toprun::bench
