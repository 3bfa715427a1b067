#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text/text.h"
#include "bench/tables/figures.h"
#include "bench/tables/kinds.h"
#include "bench/tables/live_table.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

using SeriesList = std::vector<const Series*>;

// Each with rows of one kind.
std::vector<Series> all_series(std::span<const Report> reports) {
  std::vector<Series> all;
  for (const Report& report : reports) {
    const Kinds kinds = kinds_in(report.series);
    for (const Series& series : report.series) {
      for (Series& part : by_kind(series, kinds)) all.push_back(std::move(part));
    }
  }
  return all;
}

SeriesList series_of(std::span<const Series> all, Collective collective) {
  SeriesList out;
  for (const Series& series : all) {
    if (series.collective == collective && plateau_of(series)) out.push_back(&series);
  }
  return out;
}

bool differ(const SeriesList& list, std::string Series::*name) {
  return std::ranges::any_of(
      list, [&](const Series* series) { return series->*name != list.front()->*name; });
}

// The names in which the series of one table differ, so that a table of one kind has plain
// headings.
class Columns {
 public:
  explicit Columns(const SeriesList& list) {
    for (const auto name : {&Series::source, &Series::fabric, &Series::backend, &Series::order}) {
      if (differ(list, name)) varying_.push_back(name);
    }
    for (const Series* series : list) {
      const std::string title = title_of(*series);
      if (std::ranges::find(titles_, title) == titles_.end()) titles_.push_back(title);
    }
  }

  std::string title_of(const Series& series) const {
    std::string out;
    for (const auto name : varying_) {
      out += (series.*name).empty() ? "unknown " : printable(series.*name) + " ";
    }
    for (std::size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at + 2)) {
      out.insert(at, 1, '\\');
    }
    return out;
  }

  const std::vector<std::string>& titles() const { return titles_; }

 private:
  std::vector<std::string Series::*> varying_;
  std::vector<std::string> titles_;  // each with a blank at its end; empty where nothing differs
};

// One decimal, and of a slow network the digits that count. One rank sends nothing.
std::string cell_text(double gbps) {
  if (gbps == 0) return "-";
  return gbps >= 1 ? fmt::format("{:.1f}", gbps) : rate_text(gbps);
}

std::string count_text(std::size_t count) {
  return count == 0 ? "-" : fmt::format("{}", count);
}

struct Shown {
  const Series* series = nullptr;
  const Row* row = nullptr;
};
using ShownList = std::vector<Shown>;

bool have_one_place(const SeriesList& list) {
  return std::ranges::all_of(list, [&](const Series* series) {
    return series->nodes == list.front()->nodes && series->ranks == list.front()->ranks;
  });
}

// All sizes of one set of ranks; of several sets, which are what is compared, the largest size.
ShownList shown_of(const SeriesList& list) {
  const bool are_all_sizes_shown = have_one_place(list);
  ShownList out;
  for (const Series* series : list) {
    const std::uint64_t largest = plateau_of(*series)->row.bytes;
    for (const Row& row : series->rows) {
      if (side_of(row) == nullptr) continue;
      if (are_all_sizes_shown || row.bytes == largest) out.push_back({series, &row});
    }
  }
  return out;
}

bool have_one_size(const ShownList& list) {
  return std::ranges::all_of(
      list, [&](const Shown& shown) { return shown.row->bytes == list.front().row->bytes; });
}

std::string heading(const Columns& columns, bool has_size) {
  std::string names = has_size ? "| Nodes | Ranks | Size |" : "| Nodes | Ranks |";
  std::string rule = has_size ? "|------:|------:|------:|" : "|------:|------:|";
  for (const std::string& title : columns.titles()) {
    names += fmt::format(" {0}busbw | {0}algbw |", title);
    rule += "------:|------:|";
  }
  return names + "\n" + rule + "\n";
}

using Cells = std::map<std::string, const Row*>;  // by title

std::string table(const Columns& columns, const ShownList& list) {
  const bool has_size = !have_one_size(list);
  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, Cells> rows;
  for (const auto& [series, row] : list) {
    rows[{series->nodes, series->ranks, row->bytes}][columns.title_of(*series)] = row;
  }
  std::string out = heading(columns, has_size);
  for (const auto& [place, cells] : rows) {
    const auto& [nodes, ranks, bytes] = place;
    out += fmt::format("| {} | {} |", count_text(nodes), count_text(ranks));
    if (has_size) out += fmt::format(" {} |", size_text(bytes));
    for (const std::string& title : columns.titles()) {
      const auto cell = cells.find(title);
      if (cell == cells.end()) {
        out += " - | - |";
        continue;
      }
      const Side& side = *side_of(*cell->second);
      out +=
          fmt::format(" {} | {} |", cell_text(gbps_of(side.busbw)), cell_text(gbps_of(side.algbw)));
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string markdown(std::span<const Report> reports) {
  std::string out;
  const std::vector<Series> all = all_series(reports);
  for (const CollectiveFacts& facts : collectives()) {
    const SeriesList list = series_of(all, facts.collective);
    if (list.empty()) continue;
    const ShownList shown = shown_of(list);
    const std::string size =
        have_one_size(shown) ? " of " + size_text(shown.front().row->bytes) : "";
    out += fmt::format("{}{}{}, Gbps\n\n{}", out.empty() ? "" : "\n", facts.name, size,
                       table(Columns(list), shown));
  }
  return out;
}

}  // namespace toprun::bench
