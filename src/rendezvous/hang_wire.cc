#include "rendezvous/hang_wire.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <climits>
#include <nlohmann/json.hpp>

namespace toprun::rendezvous {

using nlohmann::json;

namespace {

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

hang::Doing doing_in(const json& object) {
  hang::Doing doing{};
  if (!hang::read_doing(object.at("doing").get<std::string>(), doing)) throw OutOfRange("doing");
  return doing;
}

json json_of(const hang::Group& group) {
  const hang::Standing& standing = group.standing;
  json object = {{"doing", hang::name_of(standing.doing)},
                 {"frames", json_of(standing.frames)},
                 {"ranks", group.ranks}};
  if (!standing.wchan.empty()) object["wchan"] = standing.wchan;
  if (!standing.no_frames.empty()) object["no_frames"] = standing.no_frames;
  for (const hang::Child& child : standing.children) {
    object["children"].push_back({{"command", child.command},
                                  {"doing", hang::name_of(child.doing)},
                                  {"frames", json_of(child.frames)}});
  }
  return object;
}

hang::Group group_in(const json& object) {
  hang::Group group;
  hang::Standing& standing = group.standing;
  standing.doing = doing_in(object);
  standing.frames = frames_in(object.at("frames"));
  group.ranks = numbers_in(object, "ranks", 0, most_ranks);
  if (group.ranks.empty() || group.ranks.size() > most_slots) throw OutOfRange("ranks");
  if (object.contains("wchan")) standing.wchan = name_in(object.at("wchan"));
  if (object.contains("no_frames")) standing.no_frames = name_in(object.at("no_frames"));
  if (!object.contains("children")) return group;
  for (const json& child : object.at("children").get_ref<const json::array_t&>()) {
    if (standing.children.size() == hang::most_children) throw OutOfRange("children");
    standing.children.push_back(
        {name_in(child.at("command")), doing_in(child), frames_in(child.at("frames"))});
  }
  return group;
}

json json_of(const recorder::GroupSummary& group) {
  json object = {{"id", group.id}, {"description", group.description}};
  object["statuses"] = json::array();
  for (const recorder::Status& one : group.statuses) {
    object["statuses"].push_back(
        {{"last", {one.last_enqueued, one.last_started, one.last_completed}},
         {"ranks", one.ranks}});
  }
  object["calls"] = json::array();
  for (const recorder::Call& one : group.calls) {
    object["calls"].push_back({{"sequence", one.sequence},
                               {"operation", one.operation},
                               {"sizes", one.sizes},
                               {"types", one.types},
                               {"ranks", one.ranks}});
  }
  return object;
}

std::vector<int> ordered_ranks_in(const json& object) {
  std::vector<int> ranks = numbers_in(object, "ranks", 0, most_ranks);
  const bool is_ordered = std::ranges::adjacent_find(ranks, std::greater_equal()) == ranks.end();
  if (ranks.empty() || ranks.size() > most_slots || !is_ordered) throw OutOfRange("ranks");
  return ranks;
}

std::string recorded_text_in(const json& object, const char* name) {
  auto text = object.at(name).get<std::string>();
  if (text.size() > recorder::longest_text) throw OutOfRange(name);
  return text;
}

constexpr std::int64_t most_sequences = std::numeric_limits<std::int64_t>::max();

recorder::GroupSummary recorded_group_in(const json& object) {
  recorder::GroupSummary group{
      recorded_text_in(object, "id"), recorded_text_in(object, "description"), {}, {}};
  for (const json& one : object.at("statuses").get_ref<const json::array_t&>()) {
    if (group.statuses.size() == most_slots) throw OutOfRange("statuses");
    const auto last = numbers_in<std::int64_t>(one, "last", -1, most_sequences);
    if (last.size() != 3) throw OutOfRange("last");
    group.statuses.push_back({last[0], last[1], last[2], ordered_ranks_in(one)});
  }
  for (const json& one : object.at("calls").get_ref<const json::array_t&>()) {
    recorder::Call call{
        whole_number(one, "sequence", std::numeric_limits<std::int64_t>::min(), most_sequences),
        recorded_text_in(one, "operation"), recorded_text_in(one, "sizes"),
        recorded_text_in(one, "types"), ordered_ranks_in(one)};
    const bool is_ordered = group.calls.empty() || group.calls.back().sequence <= call.sequence;
    if (group.calls.size() == recorder::most_calls || !is_ordered) throw OutOfRange("calls");
    group.calls.push_back(std::move(call));
  }
  return group;
}

json json_of(const ras::Finding& finding) {
  return {{"kind", ras::name_of(finding.kind)},
          {"communicator", finding.communicator},
          {"size", finding.size},
          {"ranks", finding.ranks},
          {"count", finding.count},
          {"text", finding.text}};
}

ras::Finding nccl_finding_in(const json& object) {
  ras::Finding finding;
  if (!ras::read_kind(object.at("kind").get<std::string>(), finding.kind)) throw OutOfRange("kind");
  object.at("communicator").get_to(finding.communicator);
  object.at("text").get_to(finding.text);
  if (finding.communicator.size() > ras::longest_name || finding.text.size() > ras::longest_text) {
    throw OutOfRange("text");
  }
  finding.size = static_cast<int>(whole_number(object, "size", 0, ras::most_ranks));
  finding.ranks = ordered_ranks_in(object);
  if (finding.ranks.size() > ras::most_named) throw OutOfRange("ranks");
  finding.count = static_cast<std::size_t>(whole_number(
      object, "count", static_cast<std::int64_t>(finding.ranks.size()), ras::most_ranks));
  return finding;
}

}  // namespace

void write(json& object, const RanksSeen& seen) {
  object["look"] = seen.look;
  object["groups"] = json::array();
  for (const hang::Group& group : seen.groups) object["groups"].push_back(json_of(group));
  if (seen.more > 0) object["more"] = seen.more;
}
void read_from(const json& object, RanksSeen& seen) {
  seen.look = static_cast<int>(whole_number(object, "look", 0, most_looks));
  for (const json& group : object.at("groups").get_ref<const json::array_t&>()) {
    if (seen.groups.size() == most_slots) throw OutOfRange("groups");
    seen.groups.push_back(group_in(group));
  }
  if (object.contains("more")) {
    seen.more = static_cast<int>(whole_number(object, "more", 0, most_told));
  }
}

void write(json& object, const RanksTold& told) {
  object["look"] = told.look;
  object["ranks"] = told.recorded.ranks;
  object["groups"] = json::array();
  for (const recorder::GroupSummary& group : told.recorded.groups) {
    object["groups"].push_back(json_of(group));
  }
  for (const ras::Finding& finding : told.nccl) object["nccl"].push_back(json_of(finding));
}
void read_from(const json& object, RanksTold& told) {
  told.look = static_cast<int>(whole_number(object, "look", 0, most_looks));
  recorder::Summary& summary = told.recorded;
  if (!object.at("ranks").empty()) summary.ranks = ordered_ranks_in(object);
  for (const json& one : object.at("groups").get_ref<const json::array_t&>()) {
    recorder::GroupSummary group = recorded_group_in(one);
    const bool is_ordered = summary.groups.empty() || summary.groups.back().id < group.id;
    if (summary.groups.size() == recorder::most_groups || !is_ordered) throw OutOfRange("groups");
    summary.groups.push_back(std::move(group));
  }
  if (!object.contains("nccl")) return;
  for (const json& one : object.at("nccl").get_ref<const json::array_t&>()) {
    if (told.nccl.size() == ras::most_findings) throw OutOfRange("nccl");
    told.nccl.push_back(nccl_finding_in(one));
  }
}

}  // namespace toprun::rendezvous
