#include <algorithm>
#include <array>

#include "base/text.h"
#include "bench/import_formats.h"

namespace toprun::bench {
namespace {

using Words = std::vector<std::string_view>;

// The element types of nccl-tests, to tell a part's size from the total.
struct Type {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Type, 12> types = {{{"int8", 1},
                                         {"uint8", 1},
                                         {"int32", 4},
                                         {"uint32", 4},
                                         {"int64", 8},
                                         {"uint64", 8},
                                         {"half", 2},
                                         {"float", 4},
                                         {"double", 8},
                                         {"bfloat16", 2},
                                         {"f8e4m3", 1},
                                         {"f8e5m2", 1}}};

// The word behind `name`, such as 4711 behind Pid.
std::string_view word_after(const Words& line, std::string_view name) {
  const auto found = std::ranges::find(line, name);
  return found == line.end() || found + 1 == line.end() ? std::string_view{} : found[1];
}

// Of "warmup iters: 5 iters: 20 agg iters: 1" the 20.
std::optional<std::size_t> iterations_of(const Words& line) {
  for (std::size_t i = 1; i + 1 < line.size(); ++i) {
    if (line[i] != "iters:" || line[i - 1] == "warmup" || line[i - 1] == "agg") continue;
    const auto number = parse_int(line[i + 1]);
    if (number && *number >= 0) return static_cast<std::size_t>(*number);
  }
  return std::nullopt;
}

std::optional<Device> device_of(const Words& line) {
  const auto rank = parse_int(word_after(line, "Rank"));
  const auto pid = parse_int(word_after(line, "Pid"));
  const auto index = parse_int(word_after(line, "device"));
  if (!rank || !pid || !index || *rank < 0 || *index < 0 || *index > 1 << 20) return std::nullopt;
  Device device{static_cast<std::size_t>(*rank),
                std::string(word_after(line, "on")),
                static_cast<long>(*pid),
                static_cast<int>(*index),
                {},
                {}};
  auto name = std::ranges::find(line, "device") + 2;
  if (name != line.end() && name->starts_with('[')) {
    device.bus_id = name->substr(1, name->find(']') - 1);
    ++name;
  }
  for (; name != line.end(); ++name) {
    device.name += (device.name.empty() ? "" : " ") + std::string(*name);
  }
  return device;
}

// A table whose program is not named: only the collectives that reduce can be told from their rows.
std::optional<Collective> evident_collective(const Row& row, std::size_t ranks) {
  const auto type = std::ranges::find(types, row.type, &Type::name);
  if (type == types.end() || row.redop == "none" || row.root != -1 || row.count == 0) {
    return std::nullopt;
  }
  if (row.bytes / type->bytes == row.count) return Collective::all_reduce;
  const bool is_total = ranks > 1 && row.bytes / type->bytes / ranks == row.count;
  return is_total ? std::optional(Collective::reduce_scatter) : std::nullopt;
}

// Takes a row's words one by one under their heading; the first that does not fit stops it.
class RowReader {
 public:
  // False: `word` is no value for a column of this name.
  bool take(std::string_view name, std::string_view word, std::size_t iterations) {
    if (name == "time" || name == "cputime") {
      sides_.emplace_back();
      sides_.back().times.samples = 0;
    }
    if (name == "type") return set_text(row_.type, word);
    if (name == "redop") return set_text(row_.redop, word);
    if (name == "size") return set_count(row_.bytes, word);
    if (name == "count") return set_count(row_.count, word);
    if (name == "root") return set_root(word);
    if (name == "timestamp") return true;
    return !sides_.empty() && take_figure(name, word, iterations);
  }

  // Out of place first; a row of one placement was measured in place only.
  Row row() && {
    if (sides_.size() > 1) row_.out_of_place = sides_.front();
    if (!sides_.empty()) row_.in_place = sides_.back();
    return std::move(row_);
  }

 private:
  static bool set_text(std::string& text, std::string_view word) {
    text = word;
    return true;
  }

  static bool set_count(std::uint64_t& count, std::string_view word) {
    const auto number = parse_int(word);
    if (!number || *number < 0) return false;
    count = static_cast<std::uint64_t>(*number);
    return true;
  }

  bool set_root(std::string_view word) {
    const auto number = parse_int(word);
    if (!number || *number < -1 || *number > 1 << 30) return false;
    row_.root = static_cast<int>(*number);
    return true;
  }

  bool take_figure(std::string_view name, std::string_view word, std::size_t iterations) {
    Side& side = sides_.back();
    if (name == "error") return true;  // of old versions: a difference, no count
    if (name == "#wrong" && word == "N/A") return true;
    const auto figure = parse_figure(word);
    if (!figure) return false;
    if (name == "#wrong") {
      if (*figure >= 9e18) return false;
      side.wrong = static_cast<std::uint64_t>(*figure);
    }
    if (name == "time" || name == "cputime") side.times.mean_us = *figure;
    if (name == "algbw") side.algbw = *figure;
    if (name == "busbw") side.busbw = *figure;
    if (name == "i_min") side.times.min_us = *figure;
    if (name == "i_p99") side.times.p99_us = *figure;
    if (name == "i_cv%") {
      side.times.cv = *figure / 100;
      side.times.samples = iterations;
    }
    return true;
  }

  Row row_;
  std::vector<Side> sides_;
};

// Reads a log line by line. Comments say what the next table is about; a heading opens a table;
// what is neither comment nor row is other programs' output.
class NcclTextReader {
 public:
  explicit NcclTextReader(const ImportTerms& terms) : terms_(terms) {
    report_.version = "nccl-tests";
  }

  Result<void> read(std::string_view line, std::size_t number) {
    const Words parts = words(line);
    if (parts.empty()) return {};
    if (parts[0].starts_with('#')) {
      read_comment(line, parts);
      return {};
    }
    if (const auto collective = collective_of_program(line)) named_ = collective;
    const bool is_row = parts.size() > 1 && parse_int(parts[0]) && parse_int(parts[1]);
    return is_row && !columns_.empty() ? read_row(parts, number) : Result<void>{};
  }

  Report take() && {
    std::erase_if(report_.series, [](const Series& series) { return series.rows.empty(); });
    return std::move(report_);
  }

 private:
  void read_comment(std::string_view line, const Words& parts) {
    if (parts.size() > 1 && parts[1] == "size") {
      open_table({parts.begin() + 1, parts.end()});
      return;
    }
    if (const auto collective = collective_of_program(line)) named_ = collective;
    if (line.find("Collective test concluded") != std::string_view::npos) named_.reset();
    if (const auto device = device_of(parts)) add_device(*device);
    if (const auto iterations = iterations_of(parts)) iterations_ = *iterations;
    for (const std::string_view part : parts) {
      constexpr std::string_view library = "nccl-library=";
      if (!part.starts_with(library)) continue;
      if (const auto version = parse_int(part.substr(library.size()))) {
        report_.library = nccl_name(*version);
      }
    }
  }

  // The device list of a log's next run replaces that of the run before.
  void add_device(const Device& device) {
    if (!columns_.empty()) report_.devices.clear();
    columns_.clear();
    report_.devices.push_back(device);
  }

  void open_table(Words columns) {
    columns_.assign(columns.begin(), columns.end());
    Series& series = report_.series.emplace_back();
    series.backend = "nccl";
    series.ranks = report_.devices.size();
    series.nodes = nodes_of(report_.devices);
  }

  // The columns that a row of so many words has: with all, without the operation, which old
  // versions left blank, or without the placement that was skipped.
  std::vector<std::string> columns_of(std::size_t words) const {
    std::vector<std::string> out = columns_;
    if (!out.empty() && out.back() == "timestamp") out.emplace_back("timestamp");  // day and time
    if (words == out.size()) return out;
    if (words + 1 == out.size()) {
      std::erase(out, "redop");
      return out;
    }
    const auto first = std::ranges::find(out, "time");
    if (first == out.end()) return out;
    const auto second = std::find(first + 1, out.end(), "time");
    if (words + static_cast<std::size_t>(second - first) == out.size()) out.erase(first, second);
    return out;
  }

  Result<void> read_row(const Words& parts, std::size_t number) {
    const auto columns = columns_of(parts.size());
    if (columns.size() != parts.size()) {
      return unreadable(
          terms_, number,
          fmt::format("the row has {} columns, its heading {}", parts.size(), columns_.size()));
    }
    RowReader reader;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!reader.take(columns[i], parts[i], iterations_)) {
        return unreadable(
            terms_, number,
            fmt::format("\"{}\" is no {}", printable(parts[i]), printable(columns[i])));
      }
    }
    return add_row(std::move(reader).row(), number);
  }

  Result<void> add_row(Row row, std::size_t number) {
    Series& series = report_.series.back();
    if (series.rows.empty()) {
      auto collective = named_ ? named_ : terms_.collective;
      if (!collective) collective = evident_collective(row, series.ranks);
      if (!collective) {
        return unreadable(terms_, number, "the table does not say of which collective it is",
                          "name the collective");
      }
      series.collective = *collective;
    }
    series.rows.push_back(std::move(row));
    return {};
  }

  const ImportTerms& terms_;
  Report report_;
  std::optional<Collective> named_;
  std::size_t iterations_ = 0;
  std::vector<std::string> columns_;  // of the open table; empty: none
};

}  // namespace

Result<Report> import_nccl_text(std::string_view text, const ImportTerms& terms) {
  return read_lines(text, NcclTextReader(terms));
}

}  // namespace toprun::bench
