#include "observe/snapshot/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"

namespace toprun::snapshot {
namespace {

using nlohmann::json;

constexpr double mib = 1 << 20;
constexpr double megabyte = 1e6;

// A few digits are enough, and a third of the text. Null: unknown.
json rounded(const std::optional<double>& value, double per_unit) {
  return value ? json(std::round(*value * per_unit) / per_unit) : json(nullptr);
}
constexpr double tenths = 10, hundredths = 100;

std::optional<double> seconds(const std::optional<std::chrono::nanoseconds>& duration) {
  if (!duration) return std::nullopt;
  return std::chrono::duration<double>(*duration).count();
}

std::optional<double> megabytes(const std::optional<double>& bytes) {
  return bytes ? std::optional(*bytes / megabyte) : std::nullopt;
}

json whole_mib(std::uint64_t bytes) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) / mib));
}

json whole_mib(const std::optional<std::uint64_t>& bytes) {
  return bytes ? whole_mib(*bytes) : json(nullptr);
}

json attempts_json(const std::vector<model::AttemptRecord>& attempts) {
  json all = json::array();
  for (const model::AttemptRecord& attempt : attempts) {
    all.push_back(
        {{"attempt", attempt.attempt},
         {"started", rfc3339(attempt.started)},
         {"ended", or_null(attempt.ended)},
         {"cause", attempt.cause ? model::cause_json(*attempt.cause) : json(nullptr)},
         {"what", attempt.cause ? json(model::sentence(*attempt.cause)) : json(nullptr)}});
  }
  return all;
}

json messages_json(const std::deque<Message>& messages) {
  json all = json::array();
  for (const Message& message : messages) {
    all.push_back({{"time", rfc3339(message.at)}, {"text", message.text}});
  }
  return all;
}

// Without the list of nodes that have no place: it may be long.
json order_of(const model::AttemptRecord& attempt) {
  json order = model::order_json(attempt.order);
  if (order.is_object()) order.erase("unplaced");
  return order;
}

std::size_t ranks_of(const std::vector<model::NodeRecord>& nodes) {
  std::size_t sum = 0;
  for (const model::NodeRecord& node : nodes) sum += static_cast<std::size_t>(node.nproc);
  return sum;
}

// One array for each figure: a third of the text of an object for each rank, and as little work.
json columns_of(const std::vector<NodeFigures>& nodes, SteadyTime now) {
  json columns;
  for (const char* name : {"age", "cpu", "cpus", "memory", "memory_total", "received", "sent"}) {
    columns[name] = json::array();
  }
  for (const NodeFigures& node : nodes) {
    const meter::Host& host = node.usage;
    const auto age =
        node.at ? std::optional<std::chrono::nanoseconds>(now - *node.at) : std::nullopt;
    columns["age"].push_back(rounded(seconds(age), tenths));
    columns["cpu"].push_back(rounded(host.busy_cpus, hundredths));
    columns["cpus"].push_back(or_null(node.at.has_value(), host.cpus));
    columns["memory"].push_back(node.at ? whole_mib(host.memory_bytes) : json(nullptr));
    columns["memory_total"].push_back(node.at ? whole_mib(host.memory_total_bytes) : json(nullptr));
    columns["received"].push_back(rounded(megabytes(host.received_bytes_per_s), tenths));
    columns["sent"].push_back(rounded(megabytes(host.sent_bytes_per_s), tenths));
  }
  return columns;
}

json columns_of(const Board& board, const Hanging& hanging) {
  const std::vector<RankFigures>& ranks = board.ranks();
  std::string states;
  json cpu = json::array(), memory = json::array(), age = json::array(), gpu = json::array(),
       gpu_memory = json::array(), line = json::array(), pid = json::array(), lines = json::array(),
       code = json::array();
  const bool has_lines = std::ranges::any_of(
      ranks, [](const RankFigures& rank) { return !rank.usage.last_lines.empty(); });
  const bool has_failed =
      std::ranges::find(ranks, RankState::failed, &RankFigures::state) != ranks.end();
  for (const RankFigures& rank : ranks) {
    const meter::Rank& usage = rank.usage;
    cpu.push_back(rounded(usage.cpus, hundredths));
    memory.push_back(whole_mib(usage.memory_bytes));
    age.push_back(rounded(seconds(usage.silence), tenths));
    const bool is_busy_known = usage.gpu && usage.gpu->percent;
    gpu.push_back(is_busy_known ? json(*usage.gpu->percent) : json(nullptr));
    gpu_memory.push_back(usage.gpu ? whole_mib(usage.gpu->memory_bytes) : json(nullptr));
    line.push_back(or_null(usage.last_line));
    pid.push_back(or_null(usage.pid != 0, usage.pid));
    if (has_lines) lines.push_back(usage.last_lines);
    if (has_failed) code.push_back(or_null(rank.state == RankState::failed, rank.code));
  }
  for (const RankState state : states_of(board, hanging)) states += static_cast<char>(state);
  return {{"state", std::move(states)},  {"cpu", std::move(cpu)},
          {"memory", std::move(memory)}, {"output_age", std::move(age)},
          {"gpu", std::move(gpu)},       {"gpu_memory", std::move(gpu_memory)},
          {"line", std::move(line)},     {"pid", std::move(pid)},
          {"lines", std::move(lines)},   {"code", std::move(code)}};
}

constexpr std::array<NamedStage, 10> stages = {{
    {"gathering", "waiting for nodes"},
    {"arranging", "ordering the nodes"},
    {"preparing", "preparing its ranks"},
    {"running", "running"},
    {stopping_stage, "stopping its ranks"},
    {"pausing", "about to restart"},
    {"asking", "ending"},
    {"telling", "ending"},
    {"parting", "ending"},
    {"over", "over"},
}};

}  // namespace

std::span<const NamedStage> stages_by_name() {
  return stages;
}

std::string_view words_of_stage(std::string_view name) {
  const auto found = std::ranges::find(stages, name, &NamedStage::name);
  return found == stages.end() ? name : found->words;
}

const std::vector<model::NodeRecord>& nodes_of(const model::RunRecord& run) {
  return model::last_attempt(run).nodes;
}

std::string short_name(const model::RunRecord& record) {
  if (!record.title.empty()) return record.title.raw();
  const std::string& program = record.program.raw();
  return program.substr(program.rfind('/') + 1);  // npos + 1 is 0
}

json job_json(const Run& run, WallTime now) {
  const model::RunRecord& record = run.record;
  const model::AttemptRecord& last = model::last_attempt(record);
  const std::size_t named = std::min(run.missing.size(), most_missing);
  const std::optional<model::Gathering>& gathering = record.gathering;
  json here = json::array();
  for (const Outside& node : gathering ? gathering->here : std::vector<Outside>()) {
    if (here.size() < most_missing) here.push_back(node);
  }
  const std::vector<std::string> missing(run.missing.begin(),
                                         run.missing.begin() + static_cast<std::ptrdiff_t>(named));
  return {{"name", record.job},
          {"id", run.id},
          {"title", or_null(record.title)},
          {"program", record.program},
          {"root", record.root_host},
          {"pid", record.root_pid},
          {"stage", run.stage},
          {"started", rfc3339(record.started)},
          {"now", rfc3339(now)},
          {"limit", or_null(run.limit)},
          {"node_log", or_null(run.node_log)},
          {"nnodes", {run.least_nodes, run.most_nodes}},
          {"attempt", last.attempt},
          {"restarts", record.restarts},
          {"max_restarts", run.max_restarts},
          {"spares", model::spares_json(record)},
          {"lost_spares", model::lost_spares_json(record)},
          {"world", ranks_of(last.nodes)},
          {"joined", run.joined},
          {"here", std::move(here)},
          {"begins_at", or_null(gathering ? gathering->begins_at : std::nullopt)},
          {"waits_until", or_null(gathering ? model::if_known(gathering->ends_at) : std::nullopt)},
          {"missing", missing},
          {"missing_count", run.missing.size()},
          {"phases", model::phases_json(last.phases)},
          {"slowest", model::slowest_json(last.spreads)},
          {"awaited", model::awaited_json(last.awaited)},
          {"order", order_of(last)},
          {"hangs", run.hangs},
          {"hang", model::hang_json(last.hang)},
          {"hang_text", last.hang ? json(model::headline(*last.hang)) : json(nullptr)},
          {"attempts", attempts_json(record.attempts)},
          {"exit_code", or_null(model::reported_code(record))},
          {"messages", messages_json(run.messages)},
          {"interval_s", static_cast<double>(run.interval.count()) / 1'000}};
}

json nodes_json(const std::vector<model::NodeRecord>& nodes) {
  json name = json::array(), location = json::array(), first = json::array(), nproc = json::array(),
       logs = json::array();
  for (const model::NodeRecord& node : nodes) {
    name.push_back(node.name);
    location.push_back(node.location);
    first.push_back(node.first_rank);
    nproc.push_back(node.nproc);
    logs.push_back(node.logs);
  }
  return {{"name", std::move(name)},
          {"location", std::move(location)},
          {"first_rank", std::move(first)},
          {"nproc", std::move(nproc)},
          {"logs", std::move(logs)}};
}

json figures_json(const Board& board, const Hanging& hanging, WallTime now, SteadyTime steady) {
  return {{"at", rfc3339(now)},
          {"nodes", columns_of(board.nodes(), steady)},
          {"ranks", columns_of(board, hanging)}};
}

std::string picture_text(std::string_view job, std::string_view nodes, std::string_view figures) {
  return fmt::format(R"({{"schema":"toprun.live/1","job":{},"nodes":{},"figures":{}}})", job, nodes,
                     figures);
}

}  // namespace toprun::snapshot
