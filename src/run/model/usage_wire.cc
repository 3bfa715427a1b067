#include "run/model/usage_wire.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "run/model/messages.h"

namespace toprun::model {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::int64_t unknown_number = -1;
constexpr double per_cpu = 1'000;
constexpr std::int64_t most_milli_cpus = 1'000'000'000;
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
constexpr std::int64_t most_pid = std::numeric_limits<int>::max();
constexpr std::int64_t most_silence_ms = std::int64_t{1} << 50;

std::int64_t whole(const std::optional<double>& value, double factor, std::int64_t most) {
  if (!value || !(*value >= 0)) return unknown_number;
  return static_cast<std::int64_t>(
      std::round(std::min(*value * factor, static_cast<double>(most))));
}

std::int64_t whole(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min(bytes, static_cast<std::uint64_t>(most_bytes)));
}

json row_of(const meter::Rank& rank) {
  const bool has_gpu = rank.gpu.has_value();
  return {whole(rank.cpus, per_cpu, most_milli_cpus),
          rank.memory_bytes ? whole(*rank.memory_bytes) : unknown_number,
          rank.silence ? std::clamp<std::int64_t>(rank.silence->count(), 0, most_silence_ms)
                       : unknown_number,
          has_gpu && rank.gpu->percent ? *rank.gpu->percent : unknown_number,
          has_gpu ? whole(rank.gpu->memory_bytes) : unknown_number,
          has_gpu ? whole(rank.gpu->memory_total_bytes) : unknown_number,
          rank.pid};
}

// The numbers of a row, one after the other.
class Row {
 public:
  Row(const json& row, std::size_t length) : row_(row.get_ref<const json::array_t&>()) {
    if (row_.size() != length) throw OutOfRange{"usage"};
  }
  std::optional<std::int64_t> next(std::int64_t most) {
    const std::int64_t value = whole_value(row_[at_++], "usage", unknown_number, most);
    return value == unknown_number ? std::nullopt : std::optional(value);
  }
  std::uint64_t bytes() { return static_cast<std::uint64_t>(next(most_bytes).value_or(0)); }
  std::optional<double> scaled(std::int64_t most, double factor) {
    const auto value = next(most);
    return value ? std::optional(static_cast<double>(*value) / factor) : std::nullopt;
  }

 private:
  const json::array_t& row_;
  std::size_t at_ = 0;
};

meter::Rank rank_in(const json& object) {
  Row row(object, 7);
  meter::Rank rank;
  rank.cpus = row.scaled(most_milli_cpus, per_cpu);
  if (const auto bytes = row.next(most_bytes))
    rank.memory_bytes = static_cast<std::uint64_t>(*bytes);
  if (const auto silence = row.next(most_silence_ms)) rank.silence = milliseconds(*silence);
  const auto percent = row.next(100);
  const auto memory = row.next(most_bytes);
  const std::uint64_t total = row.bytes();
  rank.pid = static_cast<int>(row.next(most_pid).value_or(0));
  if (!memory) return rank;
  meter::Gpu& gpu = rank.gpu.emplace();
  if (percent) gpu.percent = static_cast<int>(*percent);
  gpu.memory_bytes = static_cast<std::uint64_t>(*memory);
  gpu.memory_total_bytes = total;
  return rank;
}

std::string line_in(const json& text) {
  std::string line = text.get<std::string>();
  if (line.size() > meter::longest_last_line) throw OutOfRange{"lines"};
  return line;
}

void read_lines(const json& lines, std::vector<meter::Rank>& ranks) {
  if (lines.size() != ranks.size()) throw OutOfRange{"lines"};
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].last_line = line_in(lines.at(i));
}

void read_several_lines(const json& of_ranks, std::vector<meter::Rank>& ranks) {
  if (of_ranks.size() != ranks.size()) throw OutOfRange{"lines"};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const json& line : of_ranks.at(i).get_ref<const json::array_t&>()) {
      if (ranks[i].last_lines.size() == meter::most_last_lines) throw OutOfRange{"lines"};
      ranks[i].last_lines.push_back(line_in(line));
    }
  }
}

json lines_json(const std::vector<Outside>& lines) {
  json all = json::array();
  for (const Outside& line : lines) all.push_back(line.raw());
  return all;
}

}  // namespace

void write_usage(json& object, const meter::Node& node) {
  const meter::Host& host = node.host;
  object["host"] = {host.cpus,
                    whole(host.busy_cpus, per_cpu, most_milli_cpus),
                    whole(host.memory_bytes),
                    whole(host.memory_total_bytes),
                    whole(host.received_bytes_per_s, 1, most_bytes),
                    whole(host.sent_bytes_per_s, 1, most_bytes)};
  object["ranks"] = json::array();
  for (const meter::Rank& rank : node.ranks) object["ranks"].push_back(row_of(rank));
  const auto is_reported = [](const meter::Rank& rank) { return !rank.last_line.empty(); };
  if (!std::ranges::any_of(node.ranks, is_reported)) return;
  json& lines = object["lines"] = json::array();
  for (const meter::Rank& rank : node.ranks) lines.push_back(rank.last_line.raw());
  const auto has_several = [](const meter::Rank& rank) { return !rank.last_lines.empty(); };
  if (!std::ranges::any_of(node.ranks, has_several)) return;
  json& several = object["last_lines"] = json::array();
  for (const meter::Rank& rank : node.ranks) several.push_back(lines_json(rank.last_lines));
}

meter::Node usage_in(const json& object) {
  meter::Node node;
  Row row(object.at("host"), 6);
  node.host.cpus = static_cast<int>(row.next(most_slots).value_or(0));
  node.host.busy_cpus = row.scaled(most_milli_cpus, per_cpu);
  node.host.memory_bytes = row.bytes();
  node.host.memory_total_bytes = row.bytes();
  node.host.received_bytes_per_s = row.scaled(most_bytes, 1);
  node.host.sent_bytes_per_s = row.scaled(most_bytes, 1);
  for (const json& rank : object.at("ranks").get_ref<const json::array_t&>()) {
    if (node.ranks.size() == most_slots) throw OutOfRange{"ranks"};
    node.ranks.push_back(rank_in(rank));
  }
  if (object.contains("lines")) read_lines(object["lines"], node.ranks);
  if (object.contains("last_lines")) read_several_lines(object["last_lines"], node.ranks);
  return node;
}

}  // namespace toprun::model
