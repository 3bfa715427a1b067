#include "bench/live_table.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/counted.h"
#include "base/text.h"
#include "bench/figures.h"

namespace toprun::bench {
namespace {

// size, kinds, time, algbw, busbw, wire, wrong
constexpr auto live_columns = "{:>9}{}  {:>11}  {:>8}  {:>8}  {:>5}  {:>6}\n";

std::string wrong_text(const Row& row) {
  std::optional<std::uint64_t> sum;
  for (const auto& side : {row.out_of_place, row.in_place}) {
    if (side && side->wrong) sum = sum.value_or(0) + *side->wrong;
  }
  return sum ? fmt::format("{}", *sum) : "-";
}

std::string share_text(std::optional<double> share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

}  // namespace

std::string ranks_text(const Series& series) {
  std::string out;
  if (series.ranks > 0) {
    out += ", " + counted(series.ranks, "rank");
  } else if (series.least_ranks > 0) {
    out += ", at least " + counted(series.least_ranks, "rank");
  }
  if (series.nodes > 0) out += (out.empty() ? ", on " : " on ") + counted(series.nodes, "node");
  return out;
}

std::string live_heading(const Series& series, const Kinds& kinds) {
  std::string out = std::string(facts_of(series.collective).name);
  for (const std::string& part : {series.backend, series.fabric}) {
    if (!part.empty()) out += " over " + printable(part);
  }
  out += ranks_text(series);
  if (!series.order.empty()) out += ", order " + printable(series.order);
  if (!series.source.empty()) out += ", " + printable(series.source);
  return out + "\n" +
         fmt::format(live_columns, "size", kind_heading(kinds), "time", "algbw", "busbw", "wire",
                     "wrong") +
         fmt::format(live_columns, "", kind_blanks(kinds), "", "GB/s", "GB/s", "", "");
}

std::string live_row(const Series& series, const Row& row, const Kinds& kinds) {
  const Side* const side = side_of(row);
  const std::string size = size_text(row.bytes);
  const std::string kind = kind_columns(row, kinds);
  if (side == nullptr) return fmt::format(live_columns, size, kind, "-", "-", "-", "-", "-");
  return fmt::format(live_columns, size, kind, time_text(side->times.mean_us),
                     rate_text(side->algbw), rate_text(side->busbw),
                     share_text(wire_share(series, *side)), wrong_text(row));
}

std::string time_text(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.2f} µs", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.2f} ms", microseconds / 1e3);
  return fmt::format("{:.2f} s", microseconds / 1e6);
}

std::string rate_text(double rate) {
  const int decimals = rate >= 1 || rate == 0 ? 2 : rate >= 0.1 ? 3 : 4;
  return fmt::format("{:.{}f}", rate, decimals);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  const int decimals = value >= 100 || value == std::floor(value) ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace toprun::bench
