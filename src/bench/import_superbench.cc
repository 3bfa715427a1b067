#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "bench/import_formats.h"

namespace toprun::bench {
namespace {

enum class Figure { time, algbw, busbw };
struct FigureName {
  Figure figure;
  std::string_view suffix;
};
constexpr std::array<FigureName, 3> figure_names = {
    {{Figure::time, "_time"}, {Figure::algbw, "_algbw"}, {Figure::busbw, "_busbw"}}};

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
};

// What ends with "allreduce_8388608".
std::optional<Key> key_of(std::string_view text) {
  const std::size_t underscore = text.find_last_not_of(decimal_digits);
  if (underscore == std::string_view::npos || text[underscore] != '_') return std::nullopt;
  const auto bytes = parse_int(text.substr(underscore + 1));
  const std::string_view before = text.substr(0, underscore);
  const std::size_t start = before.find_last_not_of("abcdefghijklmnopqrstuvwxyz") + 1;
  const auto collective = collective_named(before.substr(start));
  if (!bytes || !collective) return std::nullopt;
  return Key{*collective, static_cast<std::uint64_t>(*bytes)};
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

// A figure that comes a second time for the same size belongs to another node or run.
class SuperbenchReader {
 public:
  explicit SuperbenchReader(const ImportTerms& terms) : terms_(terms) {
    report_.version = "SuperBench";
  }

  Result<void> read(std::string_view line, std::size_t number) {
    for (const FigureName& name : figure_names) {
      for (std::size_t at = line.find(name.suffix); at != std::string_view::npos;
           at = line.find(name.suffix, at + 1)) {
        const auto key = key_of(line.substr(0, at));
        if (!key) continue;
        const auto value = value_after(line.substr(at + name.suffix.size()));
        if (!value) return unreadable(terms_, number, "the key has no number as its value");
        add(*key, name.figure, *value);
      }
    }
    return {};
  }

  Report take() && {
    for (Series& series : report_.series) {
      std::ranges::stable_sort(series.rows, {}, &Row::bytes);
      for (Row& row : series.rows) complete(row);
    }
    return std::move(report_);
  }

 private:
  struct Open {
    std::size_t series = 0;
    std::map<std::uint64_t, std::size_t> rows;           // by bytes
    std::map<std::uint64_t, std::array<bool, 3>> known;  // by bytes, of each figure
  };

  void add(const Key& key, Figure figure, double value) {
    auto open = open_.find(key.collective);
    const auto index = static_cast<std::size_t>(figure);
    if (open == open_.end() || open->second.known[key.bytes][index]) {
      open = open_.insert_or_assign(key.collective, open_series(key.collective)).first;
    }
    open->second.known[key.bytes][index] = true;
    Side& side = *row(open->second, key.bytes).out_of_place;
    if (figure == Figure::time) side.times.mean_us = value;
    if (figure == Figure::algbw) side.algbw = value;
    if (figure == Figure::busbw) side.busbw = value;
  }

  Open open_series(Collective collective) {
    Series& series = report_.series.emplace_back();
    series.collective = collective;
    series.backend = "nccl";
    series.nodes = 0;
    return {report_.series.size() - 1, {}, {}};
  }

  Row& row(Open& open, std::uint64_t bytes) {
    auto& rows = report_.series[open.series].rows;
    const auto [found, is_new] = open.rows.try_emplace(bytes, rows.size());
    if (is_new) {
      Row& added = rows.emplace_back();
      added.bytes = bytes;
      added.out_of_place.emplace();
    }
    return rows[found->second];
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
  std::map<Collective, Open> open_;
};

}  // namespace

Result<Report> import_superbench(std::string_view text, const ImportTerms& terms) {
  SuperbenchReader reader(terms);
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (auto read = reader.read(line, ++number); !read) return std::unexpected(read.error());
  }
  return std::move(reader).take();
}

}  // namespace toprun::bench
