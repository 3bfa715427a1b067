#include "run/model/hang_wire.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include <climits>
#include <nlohmann/json.hpp>

namespace toprun::model {

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
  for (const hang::OtherThread& thread : standing.threads) {
    object["threads"].push_back(
        {{"doing", hang::name_of(thread.doing)}, {"frames", json_of(thread.frames)}});
  }
  return object;
}

std::vector<hang::OtherThread> threads_in(const json& object) {
  std::vector<hang::OtherThread> threads;
  if (!object.contains("threads")) return threads;
  for (const json& thread : object.at("threads").get_ref<const json::array_t&>()) {
    if (threads.size() == hang::most_threads_shown) throw OutOfRange("threads");
    threads.push_back({doing_in(thread), frames_in(thread.at("frames"))});
  }
  return threads;
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
  standing.threads = threads_in(object);
  if (!object.contains("children")) return group;
  for (const json& child : object.at("children").get_ref<const json::array_t&>()) {
    if (standing.children.size() == hang::most_children) throw OutOfRange("children");
    standing.children.push_back(
        {name_in(child.at("command")), doing_in(child), frames_in(child.at("frames"))});
  }
  return group;
}

json json_of(const recorder::Transfer& one) {
  return {{"rank", one.rank},   {"peer", one.peer},           {"sends", one.sends},
          {"waits", one.waits}, {"first", one.is_first},      {"batch", one.batch},
          {"made", one.made},   {"operation", one.operation}, {"elements", one.elements},
          {"types", one.types}};
}

json json_of(const recorder::GroupSummary& group) {
  json object = {
      {"name", group.name}, {"description", group.description}, {"generation", group.generation}};
  for (const char* name : {"members", "reached", "calls", "transfers"}) {
    object[name] = json::array();
  }
  for (const recorder::Run& run : group.members) {
    object["members"].push_back({run.first, run.count, run.step});
  }
  for (const recorder::Reach& one : group.reached) {
    object["reached"].push_back({{"last", one.last},
                                 {"ended", one.ended},
                                 {"first", one.is_first},
                                 {"doubtful", one.is_doubtful},
                                 {"ranks", one.ranks}});
  }
  for (const recorder::Call& one : group.calls) {
    object["calls"].push_back({{"number", {one.sequence, one.part}},
                               {"operation", one.operation},
                               {"sizes", one.sizes},
                               {"elements", one.elements},
                               {"types", one.types},
                               {"exchange", {one.given, one.taken}},
                               {"ranks", one.ranks}});
  }
  for (const recorder::Transfer& one : group.transfers) {
    object["transfers"].push_back(json_of(one));
  }
  return object;
}

std::vector<int> ordered_ranks_in(const json& object, const char* name = "ranks") {
  std::vector<int> ranks = numbers_in(object, name, 0, most_ranks);
  const bool is_ordered = std::ranges::adjacent_find(ranks, std::greater_equal()) == ranks.end();
  if (ranks.size() > most_slots || !is_ordered) throw OutOfRange(name);
  return ranks;
}

std::vector<int> some_ranks_in(const json& object) {
  std::vector<int> ranks = ordered_ranks_in(object);
  if (ranks.empty()) throw OutOfRange("ranks");
  return ranks;
}

std::string recorded_text_in(const json& object, const char* name) {
  auto text = object.at(name).get<std::string>();
  if (text.size() > recorder::longest_text) throw OutOfRange(name);
  return text;
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

recorder::Transfer transfer_in(const json& one) {
  recorder::Transfer transfer;
  transfer.rank = static_cast<int>(whole_number(one, "rank", 0, most_ranks));
  transfer.peer = static_cast<int>(whole_number(one, "peer", -1, most_ranks));
  one.at("sends").get_to(transfer.sends);
  one.at("waits").get_to(transfer.waits);
  one.at("first").get_to(transfer.is_first);
  transfer.batch = static_cast<int>(whole_number(one, "batch", 1, most_ranks));
  transfer.made = whole_number(one, "made", 0, most_sequences);
  transfer.operation = recorded_text_in(one, "operation");
  transfer.elements = recorded_text_in(one, "elements");
  transfer.types = recorded_text_in(one, "types");
  return transfer;
}

recorder::Call call_in(const json& one) {
  const auto [sequence, part] = pair_in(one, "number");
  const auto [given, taken] = pair_in(one, "exchange");
  if (part > recorder::most_parts) throw OutOfRange("number");
  return {sequence,
          static_cast<int>(part),
          recorded_text_in(one, "operation"),
          recorded_text_in(one, "sizes"),
          recorded_text_in(one, "elements"),
          recorded_text_in(one, "types"),
          given,
          taken,
          some_ranks_in(one)};
}

recorder::GroupSummary recorded_group_in(const json& object) {
  recorder::GroupSummary group;
  group.name = recorded_text_in(object, "name");
  group.description = recorded_text_in(object, "description");
  group.generation =
      static_cast<int>(whole_number(object, "generation", 1, recorder::most_generations));
  group.members = members_in(object);
  for (const json& one : object.at("reached").get_ref<const json::array_t&>()) {
    if (group.reached.size() == most_slots) throw OutOfRange("reached");
    group.reached.push_back({whole_number(one, "last", 0, most_sequences),
                             whole_number(one, "ended", 0, most_sequences),
                             one.at("first").get<bool>(), one.at("doubtful").get<bool>(),
                             some_ranks_in(one)});
  }
  for (const json& one : object.at("calls").get_ref<const json::array_t&>()) {
    recorder::Call call = call_in(one);
    const bool is_ordered = group.calls.empty() || group.calls.back().place() <= call.place();
    if (group.calls.size() == recorder::most_calls || !is_ordered) throw OutOfRange("calls");
    group.calls.push_back(std::move(call));
  }
  for (const json& one : object.at("transfers").get_ref<const json::array_t&>()) {
    recorder::Transfer transfer = transfer_in(one);
    const bool is_ordered = group.transfers.empty() || group.transfers.back().rank <= transfer.rank;
    if (group.transfers.size() == recorder::most_transfers || !is_ordered) {
      throw OutOfRange("transfers");
    }
    group.transfers.push_back(std::move(transfer));
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
  finding.ranks = some_ranks_in(object);
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
    seen.more = static_cast<int>(whole_number(object, "more", 0, most_reported));
  }
}

void write(json& object, const RanksReported& reported) {
  object["look"] = reported.look;
  object["ranks"] = reported.recorded.ranks;
  object["forgetful"] = reported.recorded.forgetful;
  object["without_calls"] = reported.recorded.without_calls;
  object["groups"] = json::array();
  for (const recorder::GroupSummary& group : reported.recorded.groups) {
    object["groups"].push_back(json_of(group));
  }
  for (const ras::Finding& finding : reported.nccl) object["nccl"].push_back(json_of(finding));
}
void read_from(const json& object, RanksReported& reported) {
  reported.look = static_cast<int>(whole_number(object, "look", 0, most_looks));
  recorder::Summary& summary = reported.recorded;
  summary.ranks = ordered_ranks_in(object);
  summary.forgetful = ordered_ranks_in(object, "forgetful");
  summary.without_calls = ordered_ranks_in(object, "without_calls");
  for (const json& one : object.at("groups").get_ref<const json::array_t&>()) {
    recorder::GroupSummary group = recorded_group_in(one);
    const bool is_ordered = summary.groups.empty() || summary.groups.back().key() < group.key();
    if (summary.groups.size() == recorder::most_groups || !is_ordered) throw OutOfRange("groups");
    summary.groups.push_back(std::move(group));
  }
  if (!object.contains("nccl")) return;
  for (const json& one : object.at("nccl").get_ref<const json::array_t&>()) {
    if (reported.nccl.size() == ras::most_findings) throw OutOfRange("nccl");
    reported.nccl.push_back(nccl_finding_in(one));
  }
}

}  // namespace toprun::model
