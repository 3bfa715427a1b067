#include "run/model/record.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "run/model/exit.h"

namespace toprun::model {
using nlohmann::json;
namespace {

constexpr std::size_t longest_message_bytes = 500;

std::optional<WallTime> time_at(const json& object, std::string_view key) {
  return time_in(text_at(object, key));
}

std::vector<Outside> outsides_at(const json& object, std::string_view key) {
  const auto texts = texts_at(object, key);
  return {texts.begin(), texts.end()};
}

// Its elements, as of an empty list if it is another value.
template <class Read>
auto list_at(const json& object, std::string_view key, const Read& read) {
  std::vector<decltype(read(object))> all;
  const json& list = member(object, key);
  if (!list.is_array()) return all;
  all.reserve(list.size());
  for (const json& one : list) all.push_back(read(one));
  return all;
}

NodeRecord node_in(const json& node) {
  return {text_at(node, "name"),
          int_at(node, "group_rank").value_or(0),
          int_at(node, "first_rank").value_or(0),
          int_at(node, "nproc").value_or(0),
          text_at(node, "location"),
          text_at(node, "logs")};
}

std::optional<Interruption> interruption_in(const json& object) {
  const auto signal = int_at(object, "signal");
  const auto at = time_at(object, "at");
  if (!signal || !at) return std::nullopt;
  const int grace_ms = int_at(object, "grace_ms").value_or(0);
  return Interruption{*signal, *at, std::chrono::milliseconds(grace_ms)};
}

std::optional<Gathering> gathering_in(const json& object) {
  const auto least = int_at(object, "least");
  const auto most = int_at(object, "most");
  const auto ends_at = time_at(object, "ends_at");
  if (!least || !most || !ends_at) return std::nullopt;
  Gathering gathering;
  gathering.here = outsides_at(object, "here");
  gathering.missing = texts_at(object, "missing");
  gathering.least = static_cast<std::size_t>(*least);
  gathering.most = static_cast<std::size_t>(*most);
  gathering.begins_at = time_at(object, "begins_at");
  gathering.ends_at = *ends_at;
  return gathering;
}

LostNode lost_node_in(const json& spare) {
  return {text_at(spare, "node"), time_at(spare, "at").value_or(WallTime{}), text_at(spare, "why")};
}

FailedToo failed_too_in(const json& object) {
  constexpr std::size_t most_ranks = 1u << 22;
  FailedToo some;
  some.ranks = numbers_of_ranges(text_at(object, "ranks"), most_ranks);
  some.exit_code = int_at(object, "exit_code");
  some.signal = int_at(object, "signal");
  some.lost_peer = member(object, "lost_peer") == true;
  some.stopped = member(object, "stopped") == true;
  some.message = text_at(object, "message");
  return some;
}

// Ranks that lost a peer name its address in their exceptions, so these differ.
bool is_alike(const FailedToo& some, const FailedToo& other) {
  return some.exit_code == other.exit_code && some.signal == other.signal &&
         some.lost_peer == other.lost_peer && some.stopped == other.stopped &&
         (some.lost_peer || some.message.raw() == other.message.raw());
}

EarlierRun earlier_in(const json& run) {
  return {time_at(run, "started"), time_at(run, "ended"), time_at(run, "updated"),
          int_at(run, "exit_code"), cause_in(member(run, "cause"))};
}

json networks_json(const std::vector<fabric::NetworkByHost>& networks) {
  json all = json::array();
  for (const auto& [host, use] : networks) {
    all.push_back({{"node", host},
                   {"networks", use.networks},
                   {"ranks", use.ranks},
                   {"gpu_direct", use.gpu_direct},
                   {"nccl", use.nccl},
                   {"troubles", use.troubles}});
  }
  return all;
}

json interrupted_json(const std::optional<Interruption>& interrupted) {
  if (!interrupted) return nullptr;
  return {{"signal", interrupted->signal},
          {"at", rfc3339(interrupted->at)},
          {"grace_ms", interrupted->grace.count()}};
}

json gathering_json(const std::optional<Gathering>& gathering) {
  if (!gathering) return nullptr;
  const auto& begins_at = gathering->begins_at;
  return {{"here", gathering->here},         {"missing", gathering->missing},
          {"least", gathering->least},       {"most", gathering->most},
          {"begins_at", or_null(begins_at)}, {"ends_at", rfc3339(gathering->ends_at)}};
}

// Of the cause only what says how the run ended.
json earlier_json(const std::vector<EarlierRun>& runs) {
  json all = json::array();
  for (const EarlierRun& run : runs) {
    json cause;
    if (run.cause) {
      cause = {{"kind", name_of(run.cause->kind)},
               {"what", sentence(*run.cause)},
               {"message", run.cause->message}};
    }
    all.push_back({{"started", or_null(run.started)},
                   {"ended", or_null(run.ended)},
                   {"updated", or_null(run.updated)},
                   {"exit_code", or_null(run.exit_code)},
                   {"cause", std::move(cause)}});
  }
  return all;
}

json lost_nodes_json(const std::vector<LostNode>& nodes) {
  json all = json::array();
  for (const LostNode& node : nodes) {
    all.push_back({{"node", node.node}, {"at", rfc3339(node.at)}, {"why", node.why}});
  }
  return all;
}

json failed_too_json(const std::vector<FailedToo>& all) {
  json list = json::array();
  for (const FailedToo& some : all) {
    list.push_back({{"ranks", ranges_text(some.ranks)},
                    {"exit_code", or_null(some.exit_code)},
                    {"signal", or_null(some.signal)},
                    {"lost_peer", some.lost_peer},
                    {"stopped", some.stopped},
                    {"message", or_null(some.message)}});
  }
  return list;
}

json attempt_json(const AttemptRecord& attempt) {
  json nodes = json::array();
  for (const NodeRecord& node : attempt.nodes) {
    nodes.push_back({{"name", node.name},
                     {"group_rank", node.group_rank},
                     {"first_rank", node.first_rank},
                     {"nproc", node.nproc},
                     {"location", or_null(node.location)},
                     {"logs", or_null(node.logs)}});
  }
  return {{"attempt", attempt.attempt},
          {"started", rfc3339(attempt.started)},
          {"ended", or_null(attempt.ended)},
          {"phases_ms", phases_json(attempt.phases)},
          {"slowest", slowest_json(attempt.spreads)},
          {"awaited", awaited_json(attempt.awaited)},
          {"hang", hang_json(attempt.hang)},
          {"nodes", std::move(nodes)},
          {"order", order_json(attempt.order)},
          {"network", networks_json(attempt.networks)},
          {"interrupted", interrupted_json(attempt.interrupted)},
          {"lost_nodes", lost_nodes_json(attempt.lost_nodes)},
          {"failed_too", failed_too_json(attempt.failed_too)},
          {"cause", attempt.cause ? cause_json(*attempt.cause) : json(nullptr)}};
}

}  // namespace

std::vector<FailedToo> failed_too(const std::vector<WorkerExit>& exits, std::optional<int> cause,
                                  int interrupted_by) {
  std::vector<FailedToo> all;
  const auto add = [&](const WorkerExit& exit) {
    FailedToo one;
    one.ranks = {exit.rank};
    one.stopped = exit.ours;
    (exit.signal != 0 ? one.signal : one.exit_code) =
        exit.signal != 0 ? exit.signal : exit.exit_code;
    one.lost_peer = tells_only_of_a_lost_peer(exit);
    one.message = last_state(first_line(exit.exception), longest_message_bytes);
    const auto same =
        std::ranges::find_if(all, [&](const FailedToo& some) { return is_alike(some, one); });
    if (same != all.end()) {
      same->ranks.push_back(exit.rank);
    } else if (all.size() < most_failed_too) {
      all.push_back(std::move(one));
    } else if (!one.stopped) {
      std::vector<int> ranks = std::move(all.back().ranks);
      ranks.push_back(exit.rank);
      all.back() = FailedToo{std::move(ranks), std::nullopt, std::nullopt};
    }
  };
  const auto counts = [&](const WorkerExit& exit, bool stopped) {
    const bool is_interrupted = interrupted_by != 0 && exit.code() == 128 + interrupted_by;
    return exit.failed() && !is_interrupted && exit.rank != cause && exit.ours == stopped;
  };
  for (const WorkerExit& exit : exits) {
    if (counts(exit, false)) add(exit);
  }
  // The last group joins ranks of different kinds, so stopped ranks come after all that failed.
  for (const WorkerExit& exit : exits) {
    const bool said_why = !exit.exception.empty() && !tells_only_of_a_lost_peer(exit);
    if (counts(exit, true) && said_why) add(exit);
  }
  for (FailedToo& some : all) std::ranges::sort(some.ranks);
  return all;
}

bool is_report(const json& document) {
  return text_at(document, "schema") == report_schema;
}

AttemptRecord attempt_in(const json& object) {
  AttemptRecord attempt;
  attempt.attempt = int_at(object, "attempt").value_or(0);
  attempt.started = time_at(object, "started").value_or(WallTime{});
  attempt.ended = time_at(object, "ended");
  attempt.phases = phases_in(member(object, "phases_ms"));
  attempt.spreads = spreads_in(member(object, "slowest"));
  attempt.awaited = awaited_in(member(object, "awaited"));
  attempt.hang = hang_in(member(object, "hang"));
  attempt.nodes = list_at(object, "nodes", node_in);
  attempt.cause = cause_in(member(object, "cause"));
  attempt.interrupted = interruption_in(member(object, "interrupted"));
  attempt.lost_nodes = list_at(object, "lost_nodes", lost_node_in);
  attempt.failed_too = list_at(object, "failed_too", failed_too_in);
  return attempt;
}

void read_spares(const json& object, RunRecord& run) {
  run.spares = outsides_at(object, "spares");
  run.lost_spares = list_at(object, "lost_spares", lost_node_in);
}

RunRecord record_in(const json& report) {
  RunRecord run;
  run.job = text_at(report, "job");
  const json& root = member(report, "root");
  run.root_host = text_at(root, "host");
  run.root_pid = int_at(root, "pid").value_or(0);
  run.title = text_at(report, "title");
  run.program = text_at(report, "program");
  run.grow.reset();
  if (report.contains("grow")) run.grow = text_at(report, "grow");
  run.started = time_at(report, "started").value_or(WallTime{});
  const WallTime updated = time_at(report, "updated").value_or(WallTime{});
  if (const auto code = int_at(report, "exit_code")) {
    run.exit_code = *code;
    run.ended = updated;
  } else {
    run.running_at = updated;
  }
  run.restarts = int_at(report, "restarts").value_or(0);
  run.max_restarts = int_at(report, "max_restarts").value_or(0);
  read_spares(report, run);
  run.gathering = gathering_in(member(report, "gathering"));
  run.attempts = list_at(report, "attempts", attempt_in);
  run.earlier = list_at(report, "earlier", earlier_in);
  return run;
}

std::vector<EarlierRun> earlier_runs(std::string_view old_report) {
  const json document = json_in(old_report);
  if (!is_report(document)) return {};
  RunRecord old = record_in(document);
  EarlierRun last{if_known(old.started), std::nullopt, if_known(updated_at(old)),
                  reported_code(old), std::nullopt};
  if (last.exit_code) last.ended = last.updated;
  if (!old.attempts.empty()) last.cause = std::move(old.attempts.back().cause);
  std::vector<EarlierRun> runs = std::move(old.earlier);
  runs.push_back(std::move(last));
  if (runs.size() > most_earlier_runs) {
    runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(most_earlier_runs));
  }
  return runs;
}

std::vector<std::string> order_table(const OrderRecord& order,
                                     const std::vector<NodeRecord>& nodes) {
  std::vector<std::string> ranks;
  std::size_t rank_width = std::string_view("ranks").size();
  std::size_t name_width = std::string_view("node").size();
  for (const NodeRecord& node : nodes) {
    ranks.push_back(node.nproc == 0 ? "none"
                    : node.nproc == 1
                        ? fmt::to_string(node.first_rank)
                        : fmt::format("{}-{}", node.first_rank, node.first_rank + node.nproc - 1));
    rank_width = std::max(rank_width, ranks.back().size());
    name_width = std::max(name_width, node.name.shown().size());
  }
  std::vector<std::string> lines = {
      fmt::format("order: {} ({})", order.name, order.why),
      fmt::format("  {:<{}}  {:<{}}  place", "ranks", rank_width, "node", name_width)};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    lines.push_back(fmt::format("  {:<{}}  {:<{}}  {}", ranks[i], rank_width, nodes[i].name,
                                name_width,
                                nodes[i].location.empty() ? "unknown" : nodes[i].location.shown()));
  }
  for (const std::string& note : order.notes) lines.push_back(note);
  for (const OrderRecord::Level& level : order.levels) {
    lines.push_back(fmt::format(
        "{}: {} of {} neighbours in another {} as given, {} as ordered (minimum {})", level.name,
        level.given, nodes.size(), level.name, level.ordered, level.minimum));
  }
  return lines;
}

json order_json(const std::optional<OrderRecord>& order) {
  if (!order) return nullptr;
  json levels = json::array();
  for (const OrderRecord::Level& level : order->levels) {
    levels.push_back({{"level", level.name},
                      {"given", level.given},
                      {"ordered", level.ordered},
                      {"minimum", level.minimum}});
  }
  return {{"name", order->name},
          {"why", order->why},
          {"source", or_null(order->source)},
          {"ring", std::move(levels)},
          {"unplaced", order->unplaced},
          {"warnings", order->warnings},
          {"notes", order->notes},
          {"verified", order->verified}};
}

json spares_json(const RunRecord& run) {
  json names = json::array();
  for (const Outside& name : run.spares) names.push_back(name);
  return names;
}

json lost_spares_json(const RunRecord& run) {
  return lost_nodes_json(run.lost_spares);
}

const AttemptRecord& last_attempt(const RunRecord& run) {
  static const AttemptRecord none;
  return run.attempts.empty() ? none : run.attempts.back();
}

std::optional<int> reported_code(const RunRecord& run) {
  return run.running_at ? std::nullopt : std::optional(run.exit_code);
}

WallTime updated_at(const RunRecord& run) {
  return run.running_at.value_or(run.ended);
}

json report_json(const RunRecord& run) {
  json attempts = json::array();
  for (const AttemptRecord& attempt : run.attempts) attempts.push_back(attempt_json(attempt));
  const bool runs = run.running_at.has_value();
  json report = {{"schema", report_schema},
                 {"job", run.job},
                 {"title", or_null(run.title)},
                 {"program", or_null(run.program)},
                 {"root", {{"host", run.root_host}, {"pid", run.root_pid}}},
                 {"grow", or_null(run.grow.value_or(Outside()))},
                 {"exit_code", or_null(reported_code(run))},
                 {"started", rfc3339(run.started)},
                 {"ended", or_null(!runs, rfc3339(run.ended))},
                 {"updated", rfc3339(updated_at(run))},
                 {"restarts", run.restarts},
                 {"max_restarts", run.max_restarts},
                 {"spares", spares_json(run)},
                 {"lost_spares", lost_spares_json(run)},
                 {"gathering", gathering_json(run.gathering)},
                 {"attempts", std::move(attempts)}};
  if (!run.earlier.empty()) report["earlier"] = earlier_json(run.earlier);
  return report;
}

}  // namespace toprun::model
