#include <nlohmann/json.hpp>

#include "base/json/json_members.h"
#include "base/json/json_text.h"
#include "run/model/record.h"

namespace toprun::model {

using nlohmann::json;

namespace {

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

LostSpare lost_spare_in(const json& spare) {
  return {text_at(spare, "node"), time_at(spare, "at").value_or(WallTime{}), text_at(spare, "why")};
}

EarlierRun earlier_in(const json& run) {
  return {time_at(run, "started"), time_at(run, "ended"), time_at(run, "updated"),
          int_at(run, "exit_code"), cause_in(member(run, "cause"))};
}

}  // namespace

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
  return attempt;
}

void read_spares(const json& object, RunRecord& run) {
  run.spares = outsides_at(object, "spares");
  run.lost_spares = list_at(object, "lost_spares", lost_spare_in);
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

}  // namespace toprun::model
