#include <algorithm>
#include <array>
#include <map>

#include "base/text/text.h"
#include "bench/tables/import.h"

namespace toprun::bench {
namespace {

enum class Figure { time, algbw, busbw };
struct FigureName {
  Figure figure;
  std::string_view suffix;
};
constexpr std::array<FigureName, 3> figure_names = {
    {{Figure::time, "_time"}, {Figure::algbw, "_algbw"}, {Figure::busbw, "_busbw"}}};

constexpr std::string_view digits_and_underscore = "0123456789_";

// SuperBench names collectives without underscores.
std::optional<Collective> collective_named(std::string_view name) {
  for (const CollectiveFacts& facts : collectives()) {
    std::string plain(facts.name);
    std::erase(plain, '_');
    if (plain == name) return facts.collective;
  }
  return std::nullopt;
}

struct Key {
  Collective collective;
  std::uint64_t bytes;
  std::string group;  // of nodes that were measured together: "0_1"; empty: all
};

// "allreduce_0_1" of a traffic pattern: in its first round, the second group.
std::string take_group(std::string_view& name) {
  const std::size_t start = name.find_last_not_of(digits_and_underscore) + 1;
  const std::string_view numbers = name.substr(start);
  if (numbers.size() < 4 || numbers.find('_', 1) == numbers.npos) return {};
  name = name.substr(0, start);
  return std::string(numbers.substr(1));
}

// What ends with "allreduce_8388608", or with "allreduce_0_1:8388608".
std::optional<Key> key_of(std::string_view text) {
  const std::size_t separator = text.find_last_not_of(decimal_digits);
  if (separator == std::string_view::npos) return std::nullopt;
  const auto bytes = parse_int(text.substr(separator + 1));
  std::string_view name = text.substr(0, separator);
  std::string group;
  if (text[separator] == ':') {
    group = take_group(name);
    if (group.empty()) return std::nullopt;
  } else if (text[separator] != '_') {
    return std::nullopt;
  }
  const std::size_t start = name.find_last_not_of("abcdefghijklmnopqrstuvwxyz") + 1;
  const auto collective = collective_named(name.substr(start));
  if (!bytes || !collective) return std::nullopt;
  return Key{*collective, static_cast<std::uint64_t>(*bytes), std::move(group)};
}

// The node of a line of JSON: {"node": "n1", "nccl-bw/allreduce_8_busbw:0": 0.5}.
std::string node_of(std::string_view line) {
  constexpr std::string_view name = "\"node\"";
  const std::size_t at = line.find(name);
  if (at == line.npos) return {};
  std::string_view rest = trim(line.substr(at + name.size()));
  if (!rest.starts_with(':')) return {};
  rest = trim(rest.substr(1));
  if (!rest.starts_with('"')) return {};
  return std::string(rest.substr(1, rest.find('"', 1) - 1));
}

// The number behind a key: ":0" of its rank, a quotation mark, "=" or ":", and perhaps a bracket.
std::optional<double> value_after(std::string_view text) {
  if (text.starts_with(':') && text.size() > 1 && decimal_digits.contains(text[1])) {
    const std::size_t end = text.find_first_not_of(decimal_digits, 1);
    // Otherwise the digits are the value itself: "KEY:89".
    if (end != std::string_view::npos && text[end] != '.') text.remove_prefix(end);
  }
  if (text.starts_with('"')) text.remove_prefix(1);
  text = trim(text);
  if (!text.starts_with('=') && !text.starts_with(':')) return std::nullopt;
  text = trim(text.substr(1));
  if (text.starts_with('[')) text = trim(text.substr(1));
  return parse_figure(text.substr(0, text.find_first_of(" \t\r,]}")));
}

// A figure that comes a second time for the same size, node and group belongs to another result.
class SuperbenchReader {
 public:
  explicit SuperbenchReader(const ImportTerms& terms) : terms_(terms) {
    report_.version = "SuperBench";
  }

  Result<void> read(std::string_view line, std::size_t number) {
    const std::string node = node_of(line);
    for (const FigureName& name : figure_names) {
      for (std::size_t at = line.find(name.suffix); at != std::string_view::npos;
           at = line.find(name.suffix, at + 1)) {
        const auto key = key_of(line.substr(0, at));
        if (!key) continue;
        const auto value = value_after(line.substr(at + name.suffix.size()));
        if (!value) return unreadable(terms_, number, "the value of the key is not a number");
        add(node, *key, name.figure, *value);
      }
    }
    return {};
  }

  Result<Report> take() && {
    for (Series& series : report_.series) {
      std::ranges::stable_sort(series.rows, {}, &Row::bytes);
      for (Row& row : series.rows) complete(row);
    }
    name_results();
    return std::move(report_);
  }

 private:
  struct Open {
    std::size_t series = 0;
    std::map<std::uint64_t, std::size_t> rows;           // by bytes
    std::map<std::uint64_t, std::array<bool, 3>> known;  // by bytes, of each figure
  };
  using Name = std::pair<Collective, std::string>;  // and what tells its node and group

  static std::string source_of(const std::string& node, const std::string& group) {
    if (group.empty()) return node;
    return node + (node.empty() ? "group " : " group ") + group;
  }

  void add(const std::string& node, const Key& key, Figure figure, double value) {
    const Name name(key.collective, source_of(node, key.group));
    auto open = open_.find(name);
    const auto index = static_cast<std::size_t>(figure);
    if (open == open_.end() || open->second.known[key.bytes][index]) {
      open = open_.insert_or_assign(name, open_series(name)).first;
    }
    open->second.known[key.bytes][index] = true;
    Side& side = *row(open->second, key.bytes).out_of_place;
    if (figure == Figure::time) side.times.mean_us = value;
    if (figure == Figure::algbw) side.algbw = value;
    if (figure == Figure::busbw) side.busbw = value;
  }

  Open open_series(const Name& name) {
    Series& series = report_.series.emplace_back();
    series.collective = name.first;
    series.source = name.second;
    series.backend = "nccl";
    series.nodes = 0;
    return {report_.series.size() - 1, {}, {}};
  }

  Row& row(Open& open, std::uint64_t bytes) {
    Series& series = report_.series[open.series];
    const auto [found, is_new] = open.rows.try_emplace(bytes, series.rows.size());
    if (is_new) {
      Row& added = series.rows.emplace_back();
      added.bytes = bytes;
      added.type.clear();
      if (facts_of(series.collective).reduces) added.redop.clear();
      added.out_of_place.emplace();
    }
    return series.rows[found->second];
  }

  // Results of the same name are counted: "n1, result 2 of 3".
  void name_results() {
    std::map<Name, int> all;
    for (const Series& series : report_.series) ++all[{series.collective, series.source}];
    std::map<Name, int> seen;
    for (Series& series : report_.series) {
      const Name name(series.collective, series.source);
      if (all[name] == 1) continue;
      series.source += fmt::format("{}result {} of {}", series.source.empty() ? "" : ", ",
                                   ++seen[name], all[name]);
    }
  }

  // Time and algbw tell each other.
  static void complete(Row& row) {
    Side& side = *row.out_of_place;
    const auto bytes = static_cast<double>(row.bytes);
    if (side.algbw <= 0 && side.times.mean_us > 0) side.algbw = bytes / side.times.mean_us / 1e3;
    if (side.times.mean_us <= 0 && side.algbw > 0) side.times.mean_us = bytes / side.algbw / 1e3;
  }

  const ImportTerms& terms_;
  Report report_;
  std::map<Name, Open> open_;
};

}  // namespace

Result<Report> import_superbench(std::string_view text, const ImportTerms& terms) {
  return read_lines(text, SuperbenchReader(terms));
}

}  // namespace toprun::bench
