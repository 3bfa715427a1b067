#include "bench/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text/text.h"
#include "bench/tables/figures.h"
#include "bench/tables/live_table.h"

namespace toprun::bench {
namespace {

constexpr int time_width = 7;
constexpr int bandwidth_width = 6;
constexpr int null_side_width = 32;  // what nccl-tests leaves for a placement it skipped

int digits_before_point(double value, int most) {
  int digits = 0;
  for (double power = 1; value >= power && digits < most; power *= 10) ++digits;
  return digits;
}

// As many decimals, at most two, as the column has room for.
std::string fitted(double value, int width) {
  const int digits = digits_before_point(value, width + 1);
  if (digits < width - 2) return fmt::format("{:{}.2f}", value, width);
  if (digits < width - 1) return fmt::format("{:{}.1f}", value, width);
  if (digits < width + 1) return fmt::format("{:{}.0f}", value, width);
  return fmt::format("{:{}.{}e}", value, width, width >= time_width ? 1 : 0);
}

std::string side_text(const Side& side) {
  const std::string figures =
      fmt::format("  {}  {}  {}", fitted(side.times.mean_us, time_width),
                  fitted(side.algbw, bandwidth_width), fitted(side.busbw, bandwidth_width));
  // N/A stands one column further left than a number would, as in nccl-tests.
  if (!side.wrong) return figures + "    N/A";
  return figures + fmt::format("  {:6g}", static_cast<double>(*side.wrong));
}

std::string device_text(const Device& device) {
  return fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} {}{}\n", device.rank,
                     device.pid, printable(device.host), device.device,
                     device.bus_id.empty() ? "" : fmt::format("[{}] ", printable(device.bus_id)),
                     printable(device.name));
}

std::string heading_line(std::string_view size, std::string_view count, std::string_view type,
                         std::string_view redop, std::string_view root) {
  return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, redop, root);
}

std::string heading() {
  constexpr auto side = "  {:>7}  {:>6}  {:>6}  {:>6}";
  const std::string names = fmt::format(side, "time", "algbw", "busbw", "#wrong");
  const std::string units = fmt::format(side, "(us)", "(GB/s)", "(GB/s)", "");
  std::string out = heading_line("", "", "", "", "");
  out += "           out-of-place                       in-place          \n";
  out += heading_line("size", "count", "type", "redop", "root") + names + names + " \n";
  out += heading_line("(B)", "(elements)", "", "", "") + units + units + " \n";
  return out;
}

template <class Visit>
void for_each_side(const Series& series, Visit visit) {
  for (const Row& row : series.rows) {
    if (row.out_of_place) visit(*row.out_of_place);
    if (row.in_place) visit(*row.in_place);
  }
}

constexpr std::string_view column_names =
    "collective,backend,order,fabric,nodes,ranks,bytes,count,type,redop,root,placement,samples,"
    "mean_us,min_us,median_us,p99_us,cv,algbw_gigabytes,busbw_gigabytes,wire_floor_gbps,wrong";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string known(std::uint64_t count) {
  return count == 0 ? "" : fmt::format("{}", count);
}

std::string series_fields(const Series& series) {
  return fmt::format("{},{},{},{},{},{},", facts_of(series.collective).name, quoted(series.backend),
                     quoted(series.order), quoted(series.fabric), known(series.nodes),
                     known(series.ranks));
}

// An imported table has only means.
std::string spread_fields(const Times& times) {
  if (times.samples == 0) return fmt::format(",{:.9g},,,,,", times.mean_us);
  return fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g},{:.6g},", times.samples, times.mean_us,
                     times.min_us, times.median_us, times.p99_us, times.cv);
}

std::string side_fields(const Series& series, const Side& side) {
  const double floor = wire_floor(series.collective, side.algbw, series.nodes, series.ranks);
  const bool has_floor = series.nodes > 0 && series.ranks > 0;
  return fmt::format("{}{:.9g},{:.9g},{},{}", spread_fields(side.times), side.algbw, side.busbw,
                     has_floor ? fmt::format("{:.9g}", gbps_of(floor)) : "",
                     side.wrong ? fmt::format("{}", *side.wrong) : "");
}

bool has_sources(std::span<const Report> reports) {
  return std::ranges::any_of(reports, [](const Report& report) {
    return std::ranges::any_of(report.series,
                               [](const Series& series) { return !series.source.empty(); });
  });
}

// `end` closes each line.
std::string lines_of(const Series& series, const Row& row, const std::string& end) {
  const std::string start =
      series_fields(series) + fmt::format("{},{},{},{},{},", row.bytes,
                                          row.bytes == 0 ? "0" : known(row.count), quoted(row.type),
                                          quoted(row.redop), row.root);
  std::string out;
  if (row.out_of_place)
    out += start + "out_of_place," + side_fields(series, *row.out_of_place) + end;
  if (row.in_place) out += start + "in_place," + side_fields(series, *row.in_place) + end;
  return out;
}

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
// " over nccl", if all are measured so and this is known.
std::string backend_words(const SeriesList& list) {
  const std::string& backend = list.front()->backend;
  if (backend.empty() || differ(list, &Series::backend)) return {};
  return " over " + printable(backend);
}

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
      const bool has_rate = bytes > 0;
      out += fmt::format(" {} | {} |", has_rate ? busbw_text(side) : "-",
                         has_rate ? rate_text(side.algbw) : "-");
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string name_or_dash(const std::string& name) {
  return name.empty() ? std::string(no_name) : printable(name);
}

std::string nccl_header(const Report& report, const Series& series) {
  std::string out = "# " + printable(report.version);
  if (!report.library.empty()) out += ", " + printable(report.library);
  out += '\n';
  out += fmt::format("# Collective test starting: {}_perf\n#\n# Using devices\n",
                     facts_of(series.collective).name);
  for (const Device& device : report.devices) out += device_text(device);
  return out + "#\n" + heading();
}

std::string nccl_row(const Row& row) {
  std::string out = fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}", row.bytes, row.count,
                                name_or_dash(row.type), name_or_dash(row.redop), row.root);
  out += row.out_of_place ? side_text(*row.out_of_place) : std::string(null_side_width, ' ');
  if (row.in_place) out += side_text(*row.in_place);
  return out + "\n";
}

std::string nccl_footer(const Series& series) {
  const std::uint64_t wrong = wrong_elements(series);
  std::string out = fmt::format("# {:<20} : {} {}\n", "Out of bounds values", wrong,
                                wrong == 0 ? "OK" : "FAILED");
  // The blank at the end stands where nccl-tests says whether a minimum was reached.
  out += fmt::format("# {:<20} : {:g} \n#\n", "Avg bus bandwidth", average_busbw(series));
  return out +
         fmt::format("# Collective test concluded: {}_perf\n", facts_of(series.collective).name);
}

std::string nccl_text(const Report& report) {
  std::string out;
  for (const Series& series : report.series) {
    out += nccl_header(report, series);
    for (const Row& row : series.rows) out += nccl_row(row);
    out += nccl_footer(series);
  }
  return out;
}

double average_busbw(const Series& series) {
  double sum = 0;
  std::size_t count = 0;
  for_each_side(series, [&](const Side& side) {
    sum += side.busbw;
    ++count;
  });
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::uint64_t wrong_elements(const Series& series) {
  std::uint64_t sum = 0;
  for_each_side(series, [&](const Side& side) { sum += side.wrong.value_or(0); });
  return sum;
}

std::string csv(std::span<const Report> reports) {
  const bool with_source = has_sources(reports);
  std::string out = std::string(column_names) + (with_source ? ",source\n" : "\n");
  for (const Report& report : reports) {
    for (const Series& series : report.series) {
      const std::string end = with_source ? "," + quoted(series.source) + "\n" : "\n";
      for (const Row& row : series.rows) out += lines_of(series, row, end);
    }
  }
  return out;
}

std::string markdown(std::span<const Report> reports) {
  std::string out;
  const std::vector<Series> all = all_series(reports);
  for (const CollectiveFacts& facts : collectives()) {
    const SeriesList list = series_of(all, facts.collective);
    if (list.empty()) continue;
    const ShownList shown = shown_of(list);
    const std::string size =
        have_one_size(shown) ? " of " + size_text(shown.front().row->bytes) : "";
    out += fmt::format("{}{}{}{}, GB/s\n\n{}", out.empty() ? "" : "\n", facts.name, size,
                       backend_words(list), table(Columns(list), shown));
  }
  return out;
}

}  // namespace toprun::bench
