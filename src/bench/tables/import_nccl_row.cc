#include "bench/tables/import_nccl_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text/text.h"
#include "bench/tables/import.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

// Against the rounding of our own arithmetic.
constexpr double slack = 1e-6;

// What busbw / algbw comes near to with many ranks; 0: it tells nothing of them.
double limit_of(Collective collective) {
  if (collective == Collective::all_reduce) return 2;
  return facts_of(collective).size_is_total ? 1 : 0;
}

// Where limit·(n-1)/n is this factor.
double ranks_with(double limit, double factor) {
  return factor < limit ? limit / (limit - factor) : std::numeric_limits<double>::infinity();
}

// What a list of devices tells.
struct Listed {
  std::size_t ranks = 0;  // different ones
  std::size_t least = 0;  // the highest rank and one
  std::size_t hosts = 0;
  bool has_groups = false;

  bool is_whole() const { return ranks > 0 && ranks == least && !has_groups; }
};

Listed listed_in(std::span<const ListedDevice> devices) {
  std::set<std::size_t> ranks;
  std::set<std::string_view> hosts;
  Listed listed;
  for (const ListedDevice& entry : devices) {
    ranks.insert(entry.device.rank);
    hosts.insert(entry.device.host);
    listed.least = std::max(listed.least, entry.device.rank + 1);
    listed.has_groups = listed.has_groups || entry.group != devices.front().group;
  }
  listed.ranks = ranks.size();
  listed.hosts = hosts.size();
  return listed;
}

std::optional<std::size_t> ranks_of(const Listed& listed, const RankBounds& bounds,
                                    const RanksByCount& by_count) {
  const std::size_t least = listed.has_groups ? 1 : listed.least;
  // A single rank moves nothing, and programs that measure no busbw print the same 0.
  if (const auto only = bounds.only(); only && *only > 1) return only;
  if (const auto counted = by_count.ranks();
      counted && *counted >= least && bounds.allow(*counted)) {
    return counted;
  }
  if (listed.is_whole() && bounds.allow(listed.ranks)) return listed.ranks;
  return std::nullopt;
}

struct Type {
  std::string_view name;
  std::uint64_t bytes;
};
// Of nccl-tests, rccl-tests and NCCL 1.
constexpr std::array<Type, 16> types = {{{"int8", 1},
                                         {"uint8", 1},
                                         {"char", 1},
                                         {"int32", 4},
                                         {"uint32", 4},
                                         {"int", 4},
                                         {"int64", 8},
                                         {"uint64", 8},
                                         {"half", 2},
                                         {"float", 4},
                                         {"double", 8},
                                         {"bfloat16", 2},
                                         {"f8e4m3", 1},
                                         {"f8e5m2", 1},
                                         {"fp8_e4m3", 1},
                                         {"fp8_e5m2", 1}}};

// The first versions' names of columns, and what they are called since.
struct OldName {
  std::string_view old, name;
};
constexpr std::array<OldName, 4> old_names = {
    {{"bytes", "size"}, {"N", "count"}, {"op", "redop"}, {"res", "error"}}};
constexpr double millisecond_us = 1000;

// Half a unit of the last digit that was printed: of "1.972" 0.0005, of "1.2e+08" 5e6.
double rounding_of(std::string_view word) {
  const std::size_t e = std::min(word.find_first_of("eE"), word.size());
  const std::string_view mantissa = word.substr(0, e);
  const std::size_t point = mantissa.find('.');
  const auto decimals = point == mantissa.npos ? 0 : mantissa.size() - point - 1;
  const auto exponent = parse_double(e < word.size() ? word.substr(e + 1) : "0").value_or(0);
  return 0.5 * std::pow(10, exponent - static_cast<double>(decimals));
}

bool is_type(std::string_view word) {
  return !word.empty() && (word == no_name || (word[0] >= 'a' && word[0] <= 'z'));
}

bool is_count(std::string_view word) {
  return parse_int(word).has_value();
}

// Takes a row's words one by one under their heading; the first that does not fit stops it.
class RowReader {
 public:
  RowReader(double time_unit_us, std::size_t iterations)
      : time_unit_us_(time_unit_us), iterations_(iterations) {
    row_.type.clear();
  }

  // False: `word` is not a value for a column of this name.
  bool take(std::string_view name, std::string_view word) {
    if (name == "time" || name == "cputime") {
      sides_.emplace_back();
      sides_.back().times.samples = 0;
      bandwidths_.emplace_back();
    }
    if (name == "type") return set_text(row_.type, word);
    if (name == "redop") return set_text(row_.redop, word);
    if (name == "size") return set_count(row_.bytes, word);
    if (name == "count") return set_count(row_.count, word);
    if (name == "root") return set_root(word);
    if (name == "timestamp") return true;
    return !sides_.empty() && take_figure(name, word);
  }

  // Out of place first; a row of one placement was measured in place only.
  NcclRow row() && {
    if (sides_.size() > 1) row_.out_of_place = sides_.front();
    if (!sides_.empty()) row_.in_place = sides_.back();
    return {std::move(row_), std::move(bandwidths_)};
  }

 private:
  static bool set_text(std::string& text, std::string_view word) {
    text = word == no_name ? "" : word;
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

  bool take_figure(std::string_view name, std::string_view word) {
    Side& side = sides_.back();
    if (name == "error") return true;  // of old versions: a difference, no count
    if (name == "#wrong" && word == "N/A") return true;
    const auto figure = parse_figure(word);
    if (!figure) return false;
    if (name == "#wrong") {
      if (*figure >= 9e18) return false;
      side.wrong = static_cast<std::uint64_t>(*figure);
    }
    if (name == "time" || name == "cputime") side.times.mean_us = *figure * time_unit_us_;
    if (name == "algbw") {
      side.algbw = *figure;
      bandwidths_.back().first = {*figure, rounding_of(word)};
    }
    if (name == "busbw") {
      side.busbw = *figure;
      bandwidths_.back().second = {*figure, rounding_of(word)};
    }
    if (name == "i_min") side.times.min_us = *figure;
    if (name == "i_p99") side.times.p99_us = *figure;
    if (name == "i_cv%") {
      side.times.cv = *figure / 100;
      side.times.samples = iterations_;
    }
    return true;
  }

  double time_unit_us_;
  std::size_t iterations_;
  Row row_;
  std::vector<Side> sides_;
  std::vector<std::pair<Printed, Printed>> bandwidths_;
};

}  // namespace

void RankBounds::narrow(Collective collective, Printed algbw, Printed busbw) {
  const double limit = limit_of(collective);
  if (limit == 0 || algbw.value <= algbw.error || busbw.value <= 0) return;
  const double lowest = std::max(0.0, busbw.value - busbw.error) / (algbw.value + algbw.error);
  const double highest = (busbw.value + busbw.error) / (algbw.value - algbw.error);
  least_ = std::max(least_, ranks_with(limit, lowest));
  most_ = std::min(most_, ranks_with(limit, highest));
}

bool RankBounds::is_contradiction() const {
  return std::isinf(least_) || std::ceil(least_ - slack) > std::floor(most_ + slack);
}

std::optional<std::size_t> RankBounds::only() const {
  if (is_contradiction() || std::isinf(most_)) return std::nullopt;
  const double first = std::ceil(least_ - slack);
  if (first != std::floor(most_ + slack)) return std::nullopt;
  return static_cast<std::size_t>(first);
}

bool RankBounds::allow(std::size_t ranks) const {
  const auto n = static_cast<double>(ranks);
  return is_contradiction() || (n >= least_ - slack && n <= most_ + slack);
}

std::size_t RankBounds::least() const {
  return is_contradiction() ? 1 : static_cast<std::size_t>(std::ceil(least_ - slack));
}

std::optional<std::size_t> ranks_by_count(const Row& row) {
  const auto width = width_of(row.type);
  if (!width || row.count == 0 || row.count > row.bytes / *width) return std::nullopt;
  const std::uint64_t part = row.count * *width;
  if (row.bytes % part != 0 || row.bytes / part < 2) return std::nullopt;
  return static_cast<std::size_t>(row.bytes / part);
}

void RanksByCount::add(Collective collective, const Row& row) {
  if (!facts_of(collective).size_is_total || row.count == 0) return;
  const auto ranks = ranks_by_count(row);
  is_sure_ = is_sure_ && ranks && (!ranks_ || ranks_ == ranks);
  ranks_ = ranks;
}

void set_ranks(std::span<const ListedDevice> devices, const RankBounds& bounds,
               const RanksByCount& by_count, Series& series) {
  const Listed listed = listed_in(devices);
  const auto ranks = ranks_of(listed, bounds, by_count);
  series.ranks = ranks.value_or(0);
  series.nodes = listed.is_whole() && ranks == listed.ranks ? listed.hosts : 0;
  if (!ranks && !listed.has_groups) {
    series.least_ranks = std::max(listed.least, bounds.least() > 1 ? bounds.least() : 0);
  }
}

std::optional<NcclHeading> find_heading(std::string_view line) {
  const Words all = words(line);
  constexpr std::array<std::string_view, 3> now = {"size", "count", "type"};
  constexpr std::array<std::string_view, 3> first_versions = {"bytes", "N", "type"};
  for (const auto& names : {now, first_versions}) {
    const auto found = std::ranges::search(all, names);
    if (found.empty()) continue;
    const Words columns(found.begin(), all.end());
    if (std::ranges::find(columns, "busbw") == columns.end()) continue;
    NcclHeading heading;
    heading.at = static_cast<std::size_t>(columns.front().data() - line.data());
    for (const std::string_view column : columns) {
      const auto old = std::ranges::find(old_names, column, &OldName::old);
      heading.columns.emplace_back(old == old_names.end() ? column : old->name);
    }
    if (names == first_versions) heading.time_unit_us = millisecond_us;
    return heading;
  }
  return std::nullopt;
}

std::size_t find_row(const Words& words, std::size_t first) {
  for (std::size_t i = first; i + 2 < words.size(); ++i) {
    if (is_count(words[i]) && is_count(words[i + 1]) && is_type(words[i + 2])) return i;
  }
  return words.size();
}

std::vector<std::string> columns_of_row(const NcclHeading& heading, const Words& words) {
  std::vector<std::string> out = heading.columns;
  if (!out.empty() && out.back() == "timestamp") out.emplace_back("timestamp");  // day and time
  if (words.size() == out.size()) return out;
  const bool names_operation = words.size() > 3 && is_type(words[3]);
  const auto redop = std::ranges::find(out, "redop");
  if (words.size() + 1 == out.size() && redop != out.end() && !names_operation) {
    out.erase(redop);
    return out;
  }
  if (words.size() == out.size() + 1 && redop == out.end() && names_operation) {
    out.insert(out.begin() + 3, "redop");
    return out;
  }
  const auto first = std::ranges::find(out, "time");
  if (first == out.end()) return out;
  const auto second = std::find(first + 1, out.end(), "time");
  if (words.size() + static_cast<std::size_t>(second - first) == out.size()) {
    out.erase(first, second);
  }
  return out;
}

std::expected<NcclRow, std::string> read_nccl_row(const NcclHeading& heading, const Words& words,
                                                  std::size_t iterations) {
  const auto columns = columns_of_row(heading, words);
  if (columns.size() != words.size()) {
    return std::unexpected(fmt::format("the row has {} columns, but its heading has {}",
                                       words.size(), heading.columns.size()));
  }
  RowReader reader(heading.time_unit_us, iterations);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (reader.take(columns[i], words[i])) continue;
    return std::unexpected(
        fmt::format("\"{}\" is not a valid {}", printable(words[i]), printable(columns[i])));
  }
  return std::move(reader).row();
}

std::optional<std::uint64_t> width_of(std::string_view type) {
  const auto found = std::ranges::find(types, type, &Type::name);
  if (found == types.end()) return std::nullopt;
  return found->bytes;
}

}  // namespace toprun::bench
