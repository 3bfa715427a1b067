#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text/text.h"
#include "bench/tables/import.h"
#include "bench/tables/import_nccl_row.h"
#include "bench/tables/live_table.h"

namespace toprun::bench {
namespace {

constexpr std::size_t most_writers = 4096;
constexpr std::size_t most_lines_named = 5;

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

// "# nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 2(factor)".
std::optional<std::uint64_t> most_bytes_of(const Words& line) {
  const auto bytes = parse_int(word_after(line, "maxBytes"));
  if (!bytes || *bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

// What all versions print behind their last row.
bool is_end(std::string_view line) {
  return line.contains("Out of bounds values") || line.contains("Avg bus bandwidth") ||
         line.contains("Collective test concluded");
}

// "NCCL 2.21.5" of a line of the library's own: "NCCL version 2.21.5+cuda12.4", "RCCL version :
// 2.22.3-HEAD:…". Empty: it is none.
std::string library_of(const Words& line) {
  for (std::size_t i = 0; i + 2 < line.size(); ++i) {
    if ((line[i] != "NCCL" && line[i] != "RCCL") || line[i + 1] != "version") continue;
    std::string_view version = line[i + 2];
    if (version == ":" && i + 3 < line.size()) version = line[i + 3];
    version = version.substr(0, version.find_first_not_of("0123456789."));
    if (!version.empty() && version.contains('.')) return fmt::format("{} {}", line[i], version);
  }
  return {};
}

// "#  Rank  0 Group  0 Pid   6899 on   n1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3"; the first
// versions have neither group nor pid.
std::optional<ListedDevice> device_of(const Words& line) {
  const auto rank = parse_int(word_after(line, "Rank"));
  const auto index = parse_int(word_after(line, "device"));
  if (!rank || !index || *rank < 0 || *rank > 1 << 30 || *index < 0 || *index > 1 << 20) {
    return std::nullopt;
  }
  ListedDevice listed;
  Device& device = listed.device;
  device.rank = static_cast<std::size_t>(*rank);
  device.host = word_after(line, "on");
  device.pid =
      static_cast<long>(std::max<std::int64_t>(0, parse_int(word_after(line, "Pid")).value_or(0)));
  device.device = static_cast<int>(*index);
  listed.group = parse_int(word_after(line, "Group")).value_or(0);
  auto name = std::ranges::find(line, "device") + 2;
  if (name != line.end() && name->starts_with('[')) {
    device.bus_id = name->substr(1, name->find(']') - 1);
    ++name;
  }
  for (; name != line.end(); ++name) {
    device.name += (device.name.empty() ? "" : " ") + std::string(*name);
  }
  return listed;
}

// "# toprun 0.1.0, tcp", as nccl_header() writes it.
struct OwnHeader {
  std::string version;
  std::string library;  // "tcp", "gloo 2.9.0", "nccl 2.27.3"; several: "tcp, gloo 2.9.0"
  std::string backend;  // empty: the table may be of any of several
};

std::optional<OwnHeader> own_header(std::string_view comment) {
  constexpr std::string_view start = "# toprun ";
  if (!comment.starts_with(start)) return std::nullopt;
  const std::string_view text = trim(comment.substr(2));
  const std::size_t comma = text.find(", ");
  OwnHeader header{std::string(text.substr(0, comma)), {}, {}};
  if (words(header.version).size() != 2) return std::nullopt;
  if (comma == text.npos) return header;
  header.library = text.substr(comma + 2);
  if (!header.library.contains(',')) {
    const std::string name = header.library.substr(0, header.library.find(' '));
    header.backend = name == "rccl" ? "nccl" : name;
  }
  return header;
}

// A table whose program is not named: only the collectives that reduce can be told from their rows.
std::optional<Collective> evident_collective(const Row& row) {
  const auto width = width_of(row.type);
  if (!width || row.redop == "none" || row.redop.empty() || row.root != -1 || row.count == 0) {
    return std::nullopt;
  }
  if (row.bytes / *width == row.count) return Collective::all_reduce;
  return ranks_by_count(row) ? std::optional(Collective::reduce_scatter) : std::nullopt;
}

// A table and what its rows tell of its ranks; its series has the same place in the report.
struct Table {
  NcclHeading heading;
  std::size_t line = 0;  // of the heading
  std::string writer;
  std::size_t row_words = 0;  // of its rows; 0: none yet
  RankBounds bounds;
  RanksByCount by_count;
  std::vector<ListedDevice> devices;        // listed before it, and after it before its first row
  std::optional<std::uint64_t> last_bytes;  // that its program was to measure
  bool has_end = false;                     // its program printed its last lines
};

// One process's output, by what stands before its lines.
struct Writer {
  std::vector<ListedDevice> devices;
  std::optional<Collective> named;  // by "Collective test starting"
  std::size_t iterations = 0;
  std::optional<std::uint64_t> last_bytes;
  std::optional<OwnHeader> toprun;   // its table is of toprun bench
  std::optional<std::size_t> table;  // the open one
  bool began_again = false;          // since the open table's heading: another run's first lines
};

// A line that begins as a row and is none: cut off, or torn by another process's output.
struct Torn {
  std::size_t line;
  std::string why;
};

// Reads a log line by line. Comments say what the next table is about; a heading opens a table;
// what is neither comment nor row is other programs' output. Lines of several writers may be mixed.
class NcclTextReader {
 public:
  explicit NcclTextReader(const ImportTerms& terms) : terms_(terms) {
    report_.version = "nccl-tests";
  }

  Result<void> read(std::string_view whole, std::size_t number) {
    const std::string_view line = without_closing(whole);
    if (auto heading = find_heading(line)) return open_table(line, std::move(*heading), number);
    const Words all = words(line);
    for (std::size_t i = find_row(all); i < all.size(); i = find_row(all, i + 1)) {
      if (Writer* const writer = known_writer(before(line, all[i])); writer && writer->table) {
        return read_row(*writer, {all.begin() + static_cast<std::ptrdiff_t>(i), all.end()}, number);
      }
      if (strange_row_ == 0) strange_row_ = number;
    }
    if (is_end(line)) end_table(line);
    if (auto library = library_of(all); !library.empty()) report_.library = std::move(library);
    const std::size_t sharp = line.find('#');
    if (sharp != line.npos) read_comment(line.substr(0, sharp), line.substr(sharp));
    if (const auto collective = collective_of_program(line)) named_ = collective;
    return {};
  }

  Result<Report> take() && {
    TRY(check_mixed());
    const auto with_rows = [&](const Table& table) { return !series_of(table).rows.empty(); };
    if (!tables_.empty() && std::ranges::none_of(tables_, with_rows)) return no_rows();
    std::set<std::string_view> writers;
    for (const Table& table : tables_) {
      if (with_rows(table)) writers.insert(table.writer);
    }
    for (Table& table : tables_) {
      Series& series = series_of(table);
      add_devices_of_others(table);
      set_ranks(table.devices, table.bounds, table.by_count, series);
      if (writers.size() > 1) series.source = name_of(table.writer);
      if (with_rows(table)) keep_devices(table);
    }
    std::vector<std::string> cut_off;
    for (const Table& table : tables_) {
      if (with_rows(table) && !table.has_end) cut_off.push_back(cut_off_text(table));
    }
    std::erase_if(report_.series, [](const Series& series) { return series.rows.empty(); });
    if (!torn_.empty()) report_.notes.push_back(torn_text());
    for (const std::string& note : cut_off) report_.notes.push_back(note);
    return std::move(report_);
  }

 private:
  // What stands before a line's own text, without a comment's sign.
  static std::string_view before(std::string_view line, std::string_view text) {
    std::string_view prefix = line.substr(0, static_cast<std::size_t>(text.data() - line.data()));
    prefix = prefix.substr(0, prefix.find_last_not_of(" \t") + 1);
    if (prefix.ends_with('#')) prefix.remove_suffix(1);
    return prefix;
  }

  Series& series_of(const Table& table) {
    return report_.series[static_cast<std::size_t>(&table - tables_.data())];
  }

  Writer* known_writer(std::string_view prefix) {
    const auto found = writers_.find(writer_of(prefix));
    return found == writers_.end() ? nullptr : &found->second;
  }

  Writer* writer(std::string_view prefix) {
    std::string name = writer_of(prefix);
    if (!writers_.contains(name) && writers_.size() >= most_writers) return nullptr;
    return &writers_[std::move(name)];
  }

  void read_comment(std::string_view prefix, std::string_view comment) {
    const Words parts = words(comment);
    if (auto header = own_header(comment)) {
      report_.version = header->version;
      report_.library = header->library;
      if (Writer* const own = writer(prefix)) own->toprun = std::move(header);
      return;
    }
    const auto device = device_of(parts);
    const auto iterations = iterations_of(parts);
    const bool starts = comment.contains("Collective test starting");
    const bool ends = comment.contains("Collective test concluded");
    const auto last_bytes = most_bytes_of(parts);
    if (device || iterations || starts || ends || last_bytes) {
      Writer* const own = writer(prefix);
      if (own == nullptr) return;
      if (device) add_device(*own, *device);
      if (iterations) own->iterations = *iterations;
      if (last_bytes) own->last_bytes = last_bytes;
      if (starts) own->named = collective_of_program(comment);
      if (ends) own->named.reset();
      own->began_again = own->began_again || device || iterations || starts;
    }
    constexpr std::string_view library = "nccl-library=";
    for (const std::string_view part : parts) {
      if (!part.starts_with(library)) continue;
      if (const auto version = parse_int(part.substr(library.size()))) {
        report_.library = nccl_name(*version);
      }
    }
  }

  // The device list of a log's next run replaces that of the run before. The first versions list a
  // device also behind the heading.
  void add_device(Writer& writer, const ListedDevice& listed) {
    if (writer.table) {
      Table& table = tables_[*writer.table];
      const bool is_listed = std::ranges::any_of(table.devices, [&](const ListedDevice& other) {
        return other.device.rank == listed.device.rank;
      });
      if (series_of(table).rows.empty() && !is_listed) {
        table.devices.push_back(listed);
        return;
      }
      writer.table.reset();
      writer.devices.clear();
    }
    writer.devices.push_back(listed);
  }

  Result<void> open_table(std::string_view line, NcclHeading heading, std::size_t number) {
    const std::string_view prefix = before(line, line.substr(heading.at));
    Writer* const own = writer(prefix);
    if (own == nullptr) {
      return unreadable(
          terms_, number,
          fmt::format("the lines of the file begin with more than {} different prefixes",
                      most_writers));
    }
    if (own->table && series_of(tables_[*own->table]).rows.empty() && !own->began_again) {
      return mixed(number);
    }
    own->table = tables_.size();
    own->began_again = false;
    Table& table = tables_.emplace_back();
    table.heading = std::move(heading);
    table.line = number;
    table.writer = writer_of(prefix);
    table.devices = own->devices;
    table.last_bytes = own->last_bytes;
    Series& series = report_.series.emplace_back();
    series.backend = own->toprun ? own->toprun->backend : "nccl";
    series.nodes = 0;
    return {};
  }

  // The first versions put no sign before these lines.
  void end_table(std::string_view line) {
    const std::size_t start = std::min(line.find('#'), line.find("Out of"));
    const std::size_t at = std::min({start, line.find("Avg bus"), line.size()});
    Writer* const own = known_writer(before(line, line.substr(at)));
    if (own != nullptr && own->table) tables_[*own->table].has_end = true;
  }

  Result<void> read_row(Writer& writer, const Words& parts, std::size_t number) {
    Table& table = tables_[*writer.table];
    auto read = read_nccl_row(table.heading, parts, writer.iterations);
    if (!read) {
      torn_.push_back({number, std::move(read.error())});
      return {};
    }
    Series& series = series_of(table);
    // A first row that was cut off behind one placement looks like one of that placement alone.
    if (series.rows.size() == 1 && parts.size() > table.row_words) {
      torn_.push_back({table.line, "the first row of the table is incomplete"});
      series.rows.clear();
      table.bounds = {};
      table.by_count = {};
    }
    if (!series.rows.empty() && parts.size() != table.row_words) {
      torn_.push_back({number, fmt::format("the row has {} columns, but the rows before it have {}",
                                           parts.size(), table.row_words)});
      return {};
    }
    table.row_words = parts.size();
    return add_row(writer, table, std::move(*read), number);
  }

  Result<void> add_row(const Writer& writer, Table& table, NcclRow read, std::size_t number) {
    Series& series = series_of(table);
    if (series.rows.empty()) {
      auto collective = writer.named ? writer.named : named_ ? named_ : terms_.collective;
      if (!collective) collective = evident_collective(read.row);
      if (!collective) {
        return unreadable(terms_, number, "the table does not name its collective",
                          "name the collective");
      }
      series.collective = *collective;
    }
    for (const auto& [algbw, busbw] : read.bandwidths) {
      table.bounds.narrow(series.collective, algbw, busbw);
    }
    table.by_count.add(series.collective, read.row);
    series.rows.push_back(std::move(read.row));
    return {};
  }

  // The first versions let each process print its own devices.
  void add_devices_of_others(Table& table) const {
    for (const auto& [name, writer] : writers_) {
      if (writer.table || name == table.writer) continue;
      for (const ListedDevice& listed : writer.devices) {
        const bool is_known = std::ranges::any_of(table.devices, [&](const ListedDevice& other) {
          return other.device.rank == listed.device.rank;
        });
        if (!is_known) table.devices.push_back(listed);
      }
    }
  }

  // The report has the list of the last run.
  void keep_devices(const Table& table) {
    report_.devices.clear();
    for (const ListedDevice& listed : table.devices) report_.devices.push_back(listed.device);
    std::ranges::stable_sort(report_.devices, {}, &Device::rank);
  }

  static std::string name_of(std::string_view writer) {
    const std::size_t start = writer.find_first_not_of(":|>");
    const std::size_t end = writer.find_last_not_of(":|>");
    return start == writer.npos ? "" : std::string(writer.substr(start, end - start + 1));
  }

  std::unexpected<Error> mixed(std::size_t number) const {
    return unreadable(terms_, number,
                      "two processes' tables are mixed line by line, and no prefix shows which "
                      "process printed a row",
                      "let each process write its own file, or let the launcher mark its lines "
                      "(srun -l, mpirun --tag-output)");
  }

  // A table that stayed empty beside one that has every size twice: the rows of both are in one.
  Result<void> check_mixed() {
    for (const Table& table : tables_) {
      if (!series_of(table).rows.empty()) continue;
      for (const Table& other : tables_) {
        if (other.writer != table.writer || other.line < table.line) continue;
        std::map<std::tuple<std::uint64_t, std::string, std::string, int>, int> times;
        for (const Row& row : series_of(other).rows) {
          if (row.bytes > 0) ++times[{row.bytes, row.type, row.redop, row.root}];
        }
        const bool are_twice = !times.empty() && std::ranges::all_of(times, [](const auto& e) {
          return e.second > 1;
        });
        if (are_twice) return mixed(table.line);
      }
    }
    return {};
  }

  std::unexpected<Error> no_rows() const {
    if (!torn_.empty()) return unreadable(terms_, torn_.front().line, torn_.front().why);
    if (strange_row_ > 0) {
      return unreadable(terms_, strange_row_,
                        fmt::format("this row has another prefix than the heading in line {}, so "
                                    "this row is perhaps from another process",
                                    tables_.front().line));
    }
    return unreadable(terms_, tables_.back().line, "no row of results follows this heading");
  }

  // No last lines, as of a run that was ended or a log that was copied in part.
  std::string cut_off_text(const Table& table) {
    const std::uint64_t bytes = series_of(table).rows.back().bytes;
    const bool is_short = table.last_bytes && bytes < *table.last_bytes;
    return fmt::format(
        "{}: the table of line {} is perhaps cut off: the last line of nccl-tests is missing{}",
        terms_.file, table.line,
        is_short ? fmt::format(", and after {} the table should continue up to {}",
                               size_text(bytes), size_text(*table.last_bytes))
                 : "");
  }

  std::string torn_text() const {
    std::vector<std::string> lines;
    for (const Torn& torn : torn_) {
      if (lines.size() < most_lines_named) lines.push_back(fmt::format("{}", torn.line));
    }
    if (torn_.size() > lines.size()) {
      lines.push_back(fmt::format("{} more", torn_.size() - lines.size()));
    }
    return fmt::format("{}: ignored an incomplete row (line {}: {})", terms_.file,
                       join(lines, ", "), torn_.front().why);
  }

  const ImportTerms& terms_;
  Report report_;
  std::map<std::string, Writer, std::less<>> writers_;
  std::vector<Table> tables_;
  std::vector<Torn> torn_;
  std::optional<Collective> named_;  // by a command or a comment of any program
  std::size_t strange_row_ = 0;      // the first line with a row of no known table; 0: none
};

}  // namespace

Result<Report> import_nccl_text(std::string_view text, const ImportTerms& terms) {
  return read_lines(text, NcclTextReader(terms));
}

}  // namespace toprun::bench
