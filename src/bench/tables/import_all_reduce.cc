#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/text.h"
#include "bench/tables/import.h"

namespace toprun::bench {
namespace {

constexpr std::uint64_t element_bytes = 4;  // always fp32

struct Unit {
  std::string_view name;
  double bytes;
};
// The payloads' units, longest name first; the older print has GB of 1e9.
constexpr std::array<Unit, 7> payload_units = {{{"KiB", 1024.0},
                                                {"MiB", 1048576.0},
                                                {"GiB", 1073741824.0},
                                                {"TiB", 1099511627776.0},
                                                {"iB", 1.0},
                                                {"GB", 1e9},
                                                {"B", 1.0}}};

std::optional<std::uint64_t> payload_of(std::string_view text) {
  for (const Unit& unit : payload_units) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = parse_figure(text.substr(0, text.size() - unit.name.size()));
    if (!number || *number * unit.bytes >= 1e18) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(*number * unit.bytes));
  }
  return std::nullopt;
}

// "44.947 GBps" or "44.95GBps".
std::optional<double> bandwidth_of(std::string_view text) {
  constexpr std::string_view unit = "GBps";
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  return parse_figure(trim(text.substr(0, end)));
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells = split(trim(line), '|');
  if (cells.size() < 3) return {};
  cells = {cells.begin() + 1, cells.end() - 1};
  for (std::string_view& cell : cells) cell = trim(cell);
  return cells;
}

bool is_rule(const std::vector<std::string_view>& cells) {
  return std::ranges::all_of(cells, [](std::string_view cell) {
    return cell.find_first_not_of(":- ") == std::string_view::npos;
  });
}

// "nccl=2.27.7" or "nccl=(2, 27, 7)".
std::string library_of(std::string_view line) {
  constexpr std::string_view mark = "nccl=";
  const std::size_t start = line.find(mark);
  if (start == std::string_view::npos) return {};
  std::string version;
  for (const char c : line.substr(start + mark.size())) {
    if (c >= '0' && c <= '9') version += c;
    if (c == '.' || c == ',') version += '.';
    if (c == ')' || c == '`' || c == '\r') break;
  }
  return version.empty() ? "" : "NCCL " + version;
}

// The whole number before " ranks".
std::size_t ranks_of(std::string_view line) {
  const auto parts = words(line);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].starts_with("ranks")) continue;
    const auto number = parse_int(parts[i - 1]);
    if (number && *number > 0) return static_cast<std::size_t>(*number);
  }
  return 0;
}

// PyTorch reduces in place.
Row row_of(std::uint64_t bytes, double algbw, double busbw) {
  Row row;
  row.bytes = bytes;
  row.count = bytes / element_bytes;
  row.redop = "sum";
  Side& side = row.in_place.emplace();
  side.algbw = algbw;
  side.busbw = busbw;
  side.times.mean_us = algbw > 0 ? static_cast<double>(bytes) / algbw / 1e3 : 0;
  return row;
}

class AllReduceReader {
 public:
  explicit AllReduceReader(const ImportTerms& terms) : terms_(terms) {
    report_.version = "all_reduce_bench.py";
  }

  Result<void> read(std::string_view line, std::size_t number) {
    if (report_.library.empty()) report_.library = library_of(line);
    if (line.find("bandwidth of all_reduce") != std::string_view::npos)
      return read_title(line, number);
    const auto cells = cells_of(line);
    if (!cells.empty()) return read_cells(cells, number);
    columns_.clear();
    for (const std::string_view name : {"algbw:", "busbw:"}) {
      if (const std::size_t at = line.find(name); at != std::string_view::npos) {
        return read_figure(line.substr(at), number);
      }
    }
    return {};
  }

  Result<Report> take() && { return std::move(report_); }

 private:
  // Also opens the older print, whose title holds the payload.
  Result<void> read_title(std::string_view line, std::size_t number) {
    ranks_ = ranks_of(line);
    payload_.reset();
    algbw_.reset();
    constexpr std::string_view mark = "with a ";
    const std::size_t start = line.find(mark);
    if (start == std::string_view::npos) return {};
    const auto parts = words(line.substr(start + mark.size()));
    payload_ = parts.empty() ? std::nullopt : payload_of(parts[0]);
    if (!payload_) return unreadable(terms_, number, "the payload is not a number of GB");
    return {};
  }

  Result<void> read_cells(std::vector<std::string_view> cells, std::size_t number) {
    if (const auto first = std::ranges::find(cells, "payload"); first != cells.end()) {
      columns_.assign(first, cells.end());
      add_series();
      return {};
    }
    if (columns_.empty()) return {};
    // What a launcher puts before a line may have a bar, too.
    if (cells.size() > columns_.size()) {
      cells.erase(cells.begin(), cells.end() - static_cast<std::ptrdiff_t>(columns_.size()));
    }
    if (is_rule(cells)) return {};
    const auto payload = payload_of(cells[0]);
    const auto algbw = bandwidth_of(cell(cells, "algbw"));
    const auto busbw = bandwidth_of(cell(cells, "busbw"));
    if (cells.size() != columns_.size() || !payload || !algbw || !busbw) {
      return unreadable(terms_, number,
                        "the row does not consist of a payload, a busbw and an algbw in GBps");
    }
    report_.series.back().rows.push_back(row_of(*payload, *algbw, *busbw));
    return {};
  }

  std::string_view cell(const std::vector<std::string_view>& cells, std::string_view name) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(columns_, name) - columns_.begin());
    return at < cells.size() ? cells[at] : std::string_view{};
  }

  // " algbw: 44.947 GBps (359.6 Gbps)", then the same of busbw.
  Result<void> read_figure(std::string_view line, std::size_t number) {
    const bool is_algbw = line.starts_with("algbw:");
    if (!payload_ || (!is_algbw && !line.starts_with("busbw:"))) return {};
    const auto figure = bandwidth_of(line.substr(line.find(':') + 1));
    if (!figure) return unreadable(terms_, number, "the bandwidth is not a number of GBps");
    if (is_algbw) {
      algbw_ = figure;
      return {};
    }
    if (!algbw_) return unreadable(terms_, number, "busbw comes before algbw");
    add_series();
    report_.series.back().rows.push_back(row_of(*payload_, *algbw_, *figure));
    payload_.reset();
    return {};
  }

  void add_series() {
    Series& series = report_.series.emplace_back();
    series.backend = "nccl";
    series.ranks = ranks_;
    series.nodes = 0;
  }

  const ImportTerms& terms_;
  Report report_;
  std::size_t ranks_ = 0;
  std::vector<std::string> columns_;  // of the open table; empty: none
  std::optional<std::uint64_t> payload_;
  std::optional<double> algbw_;
};

}  // namespace

Result<Report> import_all_reduce_bench(std::string_view text, const ImportTerms& terms) {
  return read_lines(text, AllReduceReader(terms));
}

}  // namespace toprun::bench
