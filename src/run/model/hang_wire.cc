#include "run/model/hang_wire.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <climits>
#include <nlohmann/json.hpp>

#include "run/model/fields.h"

namespace toprun::model {
using nlohmann::json;
namespace {

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

std::string name_in(const json& value) {
  auto name = value.get<std::string>();
  if (name.size() > hang::longest_name) throw OutOfRange("frames");
  return name;
}

json json_of(const std::vector<stacks::Frame>& frames) {
  json all = json::array();
  for (const stacks::Frame& frame : frames) {
    all.push_back(json::array({frame.function, frame.file, frame.line}));
  }
  return all;
}

std::vector<stacks::Frame> frames_in(const json& all) {
  std::vector<stacks::Frame> frames;
  for (const json& one : all.get_ref<const json::array_t&>()) {
    if (frames.size() == hang::most_frames) throw OutOfRange("frames");
    frames.push_back({name_in(one.at(0)), name_in(one.at(1)),
                      static_cast<int>(whole_value(one.at(2), "frames", 0, INT_MAX))});
  }
  return frames;
}

// Each kind of object below has one function that lists its fields (run/model/fields.h).

// A list of at most `most` objects; `describe` lists the fields of one of them.
template <class Fields>
void list(Fields& fields, const char* name, auto& all, std::size_t most, const auto& describe) {
  if constexpr (Fields::reads) {
    for (const json& one : fields.object().at(name).template get_ref<const json::array_t&>()) {
      if (all.size() == most) throw OutOfRange(name);
      FieldReader reader(one);
      describe(reader, all.emplace_back());
    }
  } else {
    json& objects = fields.object()[name] = json::array();
    for (const auto& one : all) {
      FieldWriter writer(objects.emplace_back(json::object()));
      describe(writer, one);
    }
  }
}

// Like list(), but an empty list is left out.
template <class Fields>
void list_if_any(Fields& fields, const char* name, auto& all, std::size_t most,
                 const auto& describe) {
  bool is_there = !all.empty();
  if constexpr (Fields::reads) is_there = fields.object().contains(name);
  if (is_there) list(fields, name, all, most, describe);
}

// A name that is left out if it is empty.
void name_if_any(auto& fields, const char* key, auto& name) {
  fields.unusual(key, name, std::string());
  if (fields.reads && name.size() > hang::longest_name) throw OutOfRange("frames");
}

template <class Fields>
void doing_and_frames(Fields& fields, auto& doing, auto& frames) {
  std::string name(hang::name_of(doing));
  fields.value("doing", name);
  if constexpr (Fields::reads) {
    if (!hang::read_doing(name, doing)) throw OutOfRange("doing");
    frames = frames_in(fields.object().at("frames"));
  } else {
    fields.object()["frames"] = json_of(frames);
  }
}

constexpr auto child_fields = [](auto& fields, auto& child) {
  fields.value("command", child.command);
  if (fields.reads && child.command.size() > hang::longest_name) throw OutOfRange("frames");
  doing_and_frames(fields, child.doing, child.frames);
};

constexpr auto thread_fields = [](auto& fields, auto& thread) {
  doing_and_frames(fields, thread.doing, thread.frames);
};

constexpr auto group_fields = []<class Fields>(Fields& fields, auto& group) {
  auto& standing = group.standing;
  doing_and_frames(fields, standing.doing, standing.frames);
  if constexpr (Fields::reads) {
    group.ranks = numbers_in(fields.object(), "ranks", 0, most_ranks);
    if (group.ranks.empty() || group.ranks.size() > most_slots) throw OutOfRange("ranks");
  } else {
    fields.value("ranks", group.ranks);
  }
  name_if_any(fields, "wchan", standing.wchan);
  name_if_any(fields, "no_frames", standing.no_frames);
  list_if_any(fields, "threads", standing.threads, hang::most_threads_shown, thread_fields);
  list_if_any(fields, "children", standing.children, hang::most_children, child_fields);
};

constexpr auto seen_fields = [](auto& fields, auto& seen) {
  fields.number("look", seen.look, 0, most_looks);
  list(fields, "groups", seen.groups, most_slots, group_fields);
  fields.unusual_number("more", seen.more, 0, most_reported);
};

template <class Fields>
void ordered_ranks(Fields& fields, const char* name, auto& ranks) {
  if constexpr (Fields::reads) {
    ranks = numbers_in(fields.object(), name, 0, most_ranks);
    const bool is_ordered = std::ranges::adjacent_find(ranks, std::greater_equal()) == ranks.end();
    if (ranks.size() > most_slots || !is_ordered) throw OutOfRange(name);
  } else {
    fields.value(name, ranks);
  }
}

// One rank or more.
void some_ranks(auto& fields, auto& ranks) {
  ordered_ranks(fields, "ranks", ranks);
  if (fields.reads && ranks.empty()) throw OutOfRange("ranks");
}

void recorded_text(auto& fields, const char* name, auto& text) {
  fields.value(name, text);
  if (fields.reads && text.size() > recorder::longest_text) throw OutOfRange(name);
}

constexpr std::int64_t most_sequences = std::numeric_limits<std::int64_t>::max();

std::pair<std::int64_t, std::int64_t> pair_in(const json& object, const char* name) {
  const auto both = numbers_in<std::int64_t>(object, name, 0, most_sequences);
  if (both.size() != 2) throw OutOfRange(name);
  return {both[0], both[1]};
}

// Runs that follow each other, of most_ranks at most in all.
std::vector<recorder::Run> members_in(const json& object) {
  std::vector<recorder::Run> runs;
  std::int64_t all = 0;
  for (const json& one : object.at("members").get_ref<const json::array_t&>()) {
    if (runs.size() == recorder::most_runs || one.size() != 3) throw OutOfRange("members");
    const recorder::Run run{static_cast<int>(whole_value(one.at(0), "members", 0, most_ranks)),
                            static_cast<int>(whole_value(one.at(1), "members", 1, most_ranks)),
                            static_cast<int>(whole_value(one.at(2), "members", 1, most_ranks))};
    const std::int64_t last = run.first + (run.count - std::int64_t{1}) * run.step;
    all += run.count;
    if (last > most_ranks || all > recorder::most_members) throw OutOfRange("members");
    runs.push_back(run);
  }
  return runs;
}

constexpr auto reach_fields = [](auto& fields, auto& reach) {
  fields.number("last", reach.last, 0, most_sequences);
  fields.number("ended", reach.ended, 0, most_sequences);
  fields.value("first", reach.is_first);
  fields.value("doubtful", reach.is_doubtful);
  some_ranks(fields, reach.ranks);
};

constexpr auto call_fields = []<class Fields>(Fields& fields, auto& call) {
  if constexpr (Fields::reads) {
    const auto [sequence, part] = pair_in(fields.object(), "number");
    if (part > recorder::most_parts) throw OutOfRange("number");
    call.sequence = sequence;
    call.part = static_cast<int>(part);
    std::tie(call.given, call.taken) = pair_in(fields.object(), "exchange");
  } else {
    fields.object()["number"] = {call.sequence, call.part};
    fields.object()["exchange"] = {call.given, call.taken};
  }
  recorded_text(fields, "operation", call.operation);
  recorded_text(fields, "sizes", call.sizes);
  recorded_text(fields, "elements", call.elements);
  recorded_text(fields, "types", call.types);
  some_ranks(fields, call.ranks);
};

constexpr auto transfer_fields = [](auto& fields, auto& transfer) {
  fields.number("rank", transfer.rank, 0, most_ranks);
  fields.number("peer", transfer.peer, -1, most_ranks);
  fields.value("sends", transfer.sends);
  fields.value("waits", transfer.waits);
  fields.value("first", transfer.is_first);
  fields.number("batch", transfer.batch, 1, most_ranks);
  fields.number("made", transfer.made, 0, most_sequences);
  recorded_text(fields, "operation", transfer.operation);
  recorded_text(fields, "elements", transfer.elements);
  recorded_text(fields, "types", transfer.types);
};

constexpr auto recorded_fields = []<class Fields>(Fields& fields, auto& group) {
  recorded_text(fields, "name", group.name);
  recorded_text(fields, "description", group.description);
  fields.number("generation", group.generation, 1, recorder::most_generations);
  if constexpr (Fields::reads) {
    group.members = members_in(fields.object());
  } else {
    json& members = fields.object()["members"] = json::array();
    for (const recorder::Run& run : group.members) {
      members.push_back({run.first, run.count, run.step});
    }
  }
  list(fields, "reached", group.reached, most_slots, reach_fields);
  list(fields, "calls", group.calls, recorder::most_calls, call_fields);
  list(fields, "transfers", group.transfers, recorder::most_transfers, transfer_fields);
  if (fields.reads && !std::ranges::is_sorted(group.calls, {}, &recorder::Call::place))
    throw OutOfRange("calls");
  if (fields.reads && !std::ranges::is_sorted(group.transfers, {}, &recorder::Transfer::rank)) {
    throw OutOfRange("transfers");
  }
};

constexpr auto nccl_fields = []<class Fields>(Fields& fields, auto& finding) {
  std::string kind(ras::name_of(finding.kind));
  fields.value("kind", kind);
  if constexpr (Fields::reads) {
    if (!ras::read_kind(kind, finding.kind)) throw OutOfRange("kind");
  }
  fields.value("communicator", finding.communicator);
  fields.value("text", finding.text);
  const bool is_long =
      finding.communicator.size() > ras::longest_name || finding.text.size() > ras::longest_text;
  if (fields.reads && is_long) throw OutOfRange("text");
  fields.number("size", finding.size, 0, ras::most_ranks);
  some_ranks(fields, finding.ranks);
  if (fields.reads && finding.ranks.size() > ras::most_named) throw OutOfRange("ranks");
  fields.number("count", finding.count, static_cast<std::int64_t>(finding.ranks.size()),
                ras::most_ranks);
};

constexpr auto reported_fields = [](auto& fields, auto& reported) {
  fields.number("look", reported.look, 0, most_looks);
  auto& summary = reported.recorded;
  ordered_ranks(fields, "ranks", summary.ranks);
  ordered_ranks(fields, "forgetful", summary.forgetful);
  ordered_ranks(fields, "without_calls", summary.without_calls);
  list(fields, "groups", summary.groups, recorder::most_groups, recorded_fields);
  const auto unordered = std::ranges::adjacent_find(
      summary.groups, [](const auto& a, const auto& b) { return !(a.key() < b.key()); });
  if (fields.reads && unordered != summary.groups.end()) throw OutOfRange("groups");
  list_if_any(fields, "nccl", reported.nccl, ras::most_findings, nccl_fields);
};

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

void write(json& object, const RanksSeen& seen) {
  FieldWriter fields(object);
  seen_fields(fields, seen);
}
void read_from(const json& object, RanksSeen& seen) {
  FieldReader fields(object);
  seen_fields(fields, seen);
}

void write(json& object, const RanksReported& reported) {
  FieldWriter fields(object);
  reported_fields(fields, reported);
}
void read_from(const json& object, RanksReported& reported) {
  FieldReader fields(object);
  reported_fields(fields, reported);
}

}  // namespace toprun::model
