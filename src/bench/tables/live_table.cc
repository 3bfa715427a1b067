#include "bench/tables/live_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "bench/tables/figures.h"

namespace toprun::bench {
namespace {

// size and kinds, of a placement time, algbw and busbw, then wire and wrong
constexpr auto first_columns = "{:>9}{}";
constexpr auto side_columns = "  {:>11}  {:>7}  {:>7}";
constexpr std::size_t side_width = 31;
constexpr auto wire_column = "  {:>5}";
constexpr auto last_column = "  {:>6}\n";

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

std::string placement_text(const std::optional<Side>& side, std::uint64_t bytes) {
  if (!side) return fmt::format(side_columns, "-", "-", "-");
  if (bytes == 0) return fmt::format(side_columns, time_text(side->times.mean_us), "-", "-");
  return fmt::format(side_columns, time_text(side->times.mean_us), rate_text(side->algbw),
                     busbw_text(*side));
}

// Above the columns of two placements.
std::string placements_line(const TableColumns& columns) {
  const std::size_t before = fmt::formatted_size(first_columns, "", kind_blanks(columns.kinds));
  return fmt::format("{:{}}{:>{}}{:>{}}\n", "", before, "out of place", side_width, "in place",
                     side_width);
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

TableColumns columns_of(const Series& series) {
  TableColumns columns;
  columns.kinds = kinds_in(std::span(&series, 1));
  columns.wire = series.line_gbps && series.nodes > 1;
  columns.in_place = std::ranges::any_of(
      series.rows, [](const Row& row) { return row.in_place && row.out_of_place; });
  return columns;
}

std::string what_was_run(const Series& series) {
  std::string out = std::string(facts_of(series.collective).name);
  for (const std::string& part : {series.backend, series.fabric}) {
    if (!part.empty()) out += " over " + printable(part);
  }
  out += ranks_text(series);
  if (!series.order.empty()) out += ", order " + printable(series.order);
  if (!series.source.empty()) out += ", " + printable(series.source);
  return out;
}

std::string live_heading(const Series& series, const TableColumns& columns) {
  const auto line = [&](std::string_view size, const std::string& kinds, std::string_view time,
                        std::string_view algbw, std::string_view busbw, std::string_view wire,
                        std::string_view wrong) {
    std::string out = fmt::format(first_columns, size, kinds);
    for (int side = 0; side < (columns.in_place ? 2 : 1); ++side) {
      out += fmt::format(side_columns, time, algbw, busbw);
    }
    if (columns.wire) out += fmt::format(wire_column, wire);
    return without_blanks_at_end(out + fmt::format(last_column, wrong));
  };
  return what_was_run(series) + "\n" + (columns.in_place ? placements_line(columns) : "") +
         line("size", kind_heading(columns.kinds), "time", "algbw", "busbw", "wire", "wrong") +
         line("", kind_blanks(columns.kinds), "", "GB/s", "GB/s", "", "");
}

std::string live_row(const Series& series, const Row& row, const TableColumns& columns) {
  const Side* const side = side_of(row);
  std::string out =
      fmt::format(first_columns, size_text(row.bytes), kind_columns(row, columns.kinds));
  if (columns.in_place) {
    out += placement_text(row.out_of_place, row.bytes) + placement_text(row.in_place, row.bytes);
  } else {
    out += placement_text(side == nullptr ? std::nullopt : std::optional(*side), row.bytes);
  }
  if (columns.wire) {
    out += fmt::format(wire_column,
                       share_text(side == nullptr ? std::nullopt : wire_share(series, *side)));
  }
  return out + fmt::format(last_column, wrong_text(row));
}

std::string without_blanks_at_end(std::string line) {
  line.erase(line.find_last_not_of(" \n") + 1);
  return line + "\n";
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

std::string busbw_text(const Side& side) {
  return side.busbw == 0 && side.algbw > 0 ? "-" : rate_text(side.busbw);
}

}  // namespace toprun::bench
