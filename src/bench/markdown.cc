#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "bench/figures.h"
#include "bench/kinds.h"
#include "bench/tables.h"

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

bool differ(const SeriesList& list, std::string Series::* name) {
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

std::string count_text(std::size_t count) {
  return count == 0 ? "-" : fmt::format("{}", count);
}

std::string heading(const Columns& columns) {
  std::string names = "| Nodes | Ranks |";
  std::string rule = "|------:|------:|";
  for (const std::string& title : columns.titles()) {
    names += fmt::format(" {0}busbw | {0}algbw |", title);
    rule += "------:|------:|";
  }
  return names + "\n" + rule + "\n";
}

using Cells = std::map<std::string, const Series*>;  // by title

std::string table(const SeriesList& list) {
  const Columns columns(list);
  std::map<std::pair<std::size_t, std::size_t>, Cells> rows;  // by nodes and ranks
  for (const Series* series : list) {
    rows[{series->nodes, series->ranks}][columns.title_of(*series)] = series;
  }
  std::string out = heading(columns);
  for (const auto& [counts, cells] : rows) {
    out += fmt::format("| {} | {} |", count_text(counts.first), count_text(counts.second));
    for (const std::string& title : columns.titles()) {
      const auto cell = cells.find(title);
      if (cell == cells.end()) {
        out += " - | - |";
        continue;
      }
      const auto plateau = plateau_of(*cell->second);
      const Side& side = *side_of(plateau->row);
      out += fmt::format(" {:.1f} | {:.1f} |", gbps_of(side.busbw), gbps_of(side.algbw));
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
    out += fmt::format("{}{}, Gbps\n\n{}", out.empty() ? "" : "\n", facts.name, table(list));
  }
  return out;
}

}  // namespace toprun::bench
