#include "run/model/hang.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::model {

using nlohmann::json;

namespace {

constexpr std::size_t most_groups = 64;  // in a report; the largest
constexpr std::int64_t longest_hang_ms = 1'000'000'000'000;

json frames_json(const std::vector<stacks::Frame>& frames) {
  json all = json::array();
  for (const stacks::Frame& frame : frames) {
    all.push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
  }
  return all;
}

// "wait in all_reduce, train.py:8".
std::string doing_and_place(const hang::Standing& standing, bool is_one) {
  const std::string place = hang::place_text(standing);
  const bool is_of_another = place.starts_with("its ");  // a child or thread
  return fmt::format("{}{}{}{}", hang::doing_text(standing.doing, is_one), is_of_another ? ";" : "",
                     place.empty() ? "" : " ", place);
}

json group_json(const hang::Group& group) {
  const hang::Standing& standing = group.standing;
  json children = json::array();
  for (const hang::Child& child : standing.children) {
    children.push_back({{"command", child.command},
                        {"doing", hang::name_of(child.doing)},
                        {"frames", frames_json(child.frames)}});
  }
  json threads = json::array();
  for (const hang::OtherThread& thread : standing.threads) {
    threads.push_back(
        {{"doing", hang::name_of(thread.doing)}, {"frames", frames_json(thread.frames)}});
  }
  return {{"ranks", ranges_text(group.ranks)},
          {"count", group.ranks.size()},
          {"doing", hang::name_of(standing.doing)},
          {"place", or_null(hang::place_text(standing))},
          {"text", doing_and_place(standing, group.ranks.size() == 1)},
          {"wchan", or_null(standing.wchan)},
          {"frames", frames_json(standing.frames)},
          {"no_frames", or_null(standing.no_frames)},
          {"children", std::move(children)},
          {"threads", std::move(threads)}};
}

json alarm_json(const std::optional<hang::Alarm>& alarm) {
  if (!alarm) return nullptr;
  return {{"key", hang::name_of(alarm->kind)}, {"rank", or_null(alarm->rank)}};
}

json evidence_json(const std::vector<hang::Evidence>& evidence) {
  json all = json::array();
  for (const hang::Evidence& one : evidence) {
    all.push_back({{"source", hang::name_of(one.source)},
                   {"kind", one.kind},
                   {"group", or_null(one.group)},
                   {"ranks", ranges_text(one.ranks)},
                   {"text", one.text}});
  }
  return all;
}

json groups_json(const std::vector<hang::Group>& groups, std::size_t most) {
  json all = json::array();
  for (const hang::Group& group : groups) {
    if (all.size() < most) all.push_back(group_json(group));
  }
  return all;
}

}  // namespace

json places_json(const Places& places) {
  return {{"schema", "toprun.stacks/1"},
          {"attempt", places.attempt},
          {"groups", groups_json(places.groups, places.groups.size())},
          {"unseen", or_null(ranges_text(places.unseen))},
          {"lines", places.lines}};
}

std::string headline(const Hang& hang) {
  if (hang.alarm) return fmt::format("{}: {}", hang::text_of(*hang.alarm), hang.verdict.what);
  return fmt::format("no rank has made progress for {}: {}", duration_text(hang.after),
                     hang.verdict.what);
}

WallTime since(const Hang& hang) {
  return hang.alarm || hang.noticed == WallTime{} ? hang.noticed : hang.noticed - hang.after;
}

std::string since_text(const Hang& hang, WallTime beside) {
  const WallTime begin = since(hang);
  const std::string when = begin == WallTime{} ? "" : " since " + moment_text(begin, beside);
  return fmt::format("{}: {}", when, printable(hang.verdict.what));
}

std::string past_text(const Hang& hang, WallTime beside) {
  return "had hung" + since_text(hang, beside);
}

std::optional<Hang> hang_in(const json& object) {
  Hang hang;
  hang.verdict.what = text_at(object, "what");
  if (hang.verdict.what.empty()) return std::nullopt;
  hang.noticed = time_in(text_at(object, "noticed")).value_or(WallTime{});
  hang.over = time_in(text_at(object, "over"));
  if (const auto after = number_at(object, "after_ms", longest_hang_ms)) {
    hang.after = std::chrono::milliseconds(*after);
  }
  hang.next = text_at(object, "next");
  const json& alarm = member(object, "alarm");
  if (hang::Alarm read; hang::read_alarm_kind(text_at(alarm, "key"), read.kind)) {
    read.rank = int_at(alarm, "rank");
    hang.alarm = read;
  }
  const json& suspects = member(object, "suspects");
  for (const json& suspect : suspects.is_array() ? suspects : json::array()) {
    const auto rank = int_at(suspect, "rank");
    if (!rank) continue;
    hang.verdict.suspects.push_back(*rank);
    hang.suspected.push_back(text_at(suspect, "node"));
  }
  return hang;
}

json hang_json(const std::optional<Hang>& hang) {
  if (!hang) return nullptr;
  json suspects = json::array();
  for (std::size_t i = 0; i < hang->verdict.suspects.size(); ++i) {
    suspects.push_back({{"rank", hang->verdict.suspects[i]}, {"node", hang->suspected[i]}});
  }
  const std::vector<int>& unseen = hang->verdict.unseen;
  return {{"noticed", rfc3339(hang->noticed)},
          {"over", or_null(hang->over)},
          {"after_ms", or_null(!hang->alarm, hang->after.count())},
          {"alarm", alarm_json(hang->alarm)},
          {"what", hang->verdict.what},
          {"suspects", std::move(suspects)},
          {"groups", groups_json(hang->verdict.groups, most_groups)},
          {"evidence", evidence_json(hang->verdict.evidence)},
          {"unseen", or_null(ranges_text(unseen))},
          {"next", or_null(hang->next)}};
}

}  // namespace toprun::model
