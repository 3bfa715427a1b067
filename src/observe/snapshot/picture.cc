#include "observe/snapshot/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include <climits>
#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "decide/hang/standing.h"

namespace toprun::snapshot {
namespace {

using nlohmann::json;

std::optional<double> number_of(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

int count_in(const json& object, const char* name) {
  const auto value = number_of(member(object, name));
  return value && *value >= 0 && *value <= INT_MAX ? static_cast<int>(*value) : 0;
}

std::size_t size_of(const json& value) {
  const auto number = number_of(value);
  constexpr double most = most_pictured_ranks;
  return number && *number >= 0 && *number <= most ? static_cast<std::size_t>(*number) : 0;
}

std::optional<WallTime> moment_in(const json& object, const char* name) {
  return time_in(text_at(object, name));
}

// The entry of a column; null beyond its end.
class Column {
 public:
  Column(const json& table, const char* name) : values_(member(table, name)) {}
  const json& operator[](std::size_t i) const {
    static const json none;
    return values_.is_array() && i < values_.size() ? values_[i] : none;
  }
  std::string text(std::size_t i) const {
    const json& value = (*this)[i];
    return value.is_string() ? value.get<std::string>() : "";
  }
  std::size_t size() const { return values_.is_array() ? values_.size() : 0; }

 private:
  const json& values_;
};

// "load_batch, /job/hang.py:5"; empty: no frame.
std::string frame_text(const json& frame) {
  const std::string function = text_at(frame, "function");
  if (function.empty()) return "";
  return fmt::format("{}, {}:{}", function, text_at(frame, "file"), count_in(frame, "line"));
}

// "sleeps at hang.py:5 in load_batch".
std::string standing_text(const json& group) {
  hang::Doing doing{};
  const std::string place = text_at(group, "place");
  if (!hang::read_doing(text_at(group, "doing"), doing)) return place;
  const std::string does(hang::doing_text(doing));
  if (place.empty()) return does;
  const bool is_of_another = place.starts_with("its ");  // a child or thread
  return fmt::format("{}{} {}", does, is_of_another ? ";" : "", place);
}

Picture::Place place_in(const json& group) {
  Picture::Place place{text_at(group, "ranks"), standing_text(group), {}};
  const Column frames(group, "frames");
  for (std::size_t i = 0; i < std::min(frames.size(), most_pictured_frames); ++i) {
    place.stack.emplace_back(frame_text(frames[i]));
  }
  return place;
}

// "4" or "0-2": the first and the last rank.
std::optional<std::pair<std::size_t, std::size_t>> rank_range(std::string_view part) {
  const auto dash = part.find('-');
  const auto first = parse_int(part.substr(0, dash));
  const auto last = dash == part.npos ? first : parse_int(part.substr(dash + 1));
  if (!first || !last || *first < 0 || std::cmp_greater(*last, most_pictured_ranks))
    return std::nullopt;
  return std::pair(static_cast<std::size_t>(*first), static_cast<std::size_t>(*last));
}

// Whether "0-2,4" names the rank.
bool names_rank(std::string_view ranks, std::size_t rank) {
  return std::ranges::any_of(split(ranks, ','), [&](std::string_view part) {
    const auto range = rank_range(part);
    return range && range->first <= rank && rank <= range->second;
  });
}

std::vector<Picture::Place> places_in(const json& hang) {
  std::vector<Picture::Place> places;
  const Column groups(hang, "groups");
  for (std::size_t i = 0; i < std::min(groups.size(), most_pictured_places); ++i) {
    places.push_back(place_in(groups[i]));
  }
  return places;
}

void read_run(const json& job, model::RunRecord& run) {
  run.job = text_at(job, "name");
  run.title = text_at(job, "title");
  run.program = text_at(job, "program");
  run.root_host = text_at(job, "root");
  run.root_pid = count_in(job, "pid");
  run.started = moment_in(job, "started").value_or(WallTime{});
  run.restarts = count_in(job, "restarts");
  run.max_restarts = count_in(job, "max_restarts");
  model::read_spares(job, run);
  if (member(job, "exit_code").is_number_integer()) {
    run.exit_code = count_in(job, "exit_code");
  } else {
    run.running_at = moment_in(job, "now").value_or(WallTime{});
  }
  const Column attempts(job, "attempts");
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    run.attempts.push_back(model::attempt_in(attempts[i]));
  }
  if (run.attempts.empty()) return;
  model::AttemptRecord& last = run.attempts.back();
  last.phases = model::phases_in(member(job, "phases"));
  last.spreads = model::spreads_in(member(job, "slowest"));
  last.awaited = model::awaited_in(member(job, "awaited"));
  last.hang = model::hang_in(member(job, "hang"));
  if (last.hang && last.hang->over) last.hang.reset();
}

void read_job(const json& job, Picture& picture) {
  read_run(job, picture.run);
  picture.hang_is_past = member(job, "hangs") != true;
  if (!picture.hang_is_past) picture.hang_places = places_in(member(job, "hang"));
  picture.id = text_at(job, "id");
  picture.stage = text_at(job, "stage");
  picture.now = moment_in(job, "now");
  picture.limit = moment_in(job, "limit");
  picture.node_log = text_at(job, "node_log");
  const Column sizes(job, "nnodes");
  picture.least_nodes = static_cast<int>(std::max<std::size_t>(size_of(sizes[0]), 1));
  picture.most_nodes = static_cast<int>(std::max<std::size_t>(size_of(sizes[1]), 1));
  picture.joined = count_in(job, "joined");
  picture.begins_at = moment_in(job, "begins_at");
  picture.waits_until = moment_in(job, "waits_until");
  const Column here(job, "here");
  for (std::size_t i = 0; i < std::min(here.size(), most_missing); ++i) {
    picture.here.push_back(here.text(i));
  }
  const Column missing(job, "missing");
  for (std::size_t i = 0; i < std::min(missing.size(), most_missing); ++i) {
    picture.missing.push_back(missing.text(i));
  }
  picture.missing_count = size_of(member(job, "missing_count"));
  const Column messages(job, "messages");
  for (std::size_t i = 0; i < std::min(messages.size(), most_messages); ++i) {
    picture.messages.push_back(
        {moment_in(messages[i], "time").value_or(WallTime()), text_at(messages[i], "text")});
  }
  picture.interval_s = std::clamp(number_of(member(job, "interval_s")).value_or(1), 0.1, 3'600.0);
}

void read_nodes(const json& nodes, const json& figures, Picture& picture) {
  const Column name(nodes, "name"), location(nodes, "location"), logs(nodes, "logs"),
      first(nodes, "first_rank"), ranks(nodes, "nproc"), age(figures, "age"), cpu(figures, "cpu"),
      cpus(figures, "cpus"), memory(figures, "memory"), total(figures, "memory_total"),
      received(figures, "received"), sent(figures, "sent");
  picture.nodes.reserve(name.size());
  for (std::size_t i = 0; i < name.size(); ++i) {
    Picture::Node node;
    node.name = name.text(i);
    node.location = location.text(i);
    node.logs = logs.text(i);
    node.first_rank = size_of(first[i]);
    node.ranks = size_of(ranks[i]);
    node.age_s = number_of(age[i]);
    node.busy_cpus = number_of(cpu[i]);
    if (cpus[i].is_number()) node.cpus = static_cast<int>(size_of(cpus[i]));
    node.memory_mib = number_of(memory[i]);
    node.memory_total_mib = number_of(total[i]);
    node.received_mb_per_s = number_of(received[i]);
    node.sent_mb_per_s = number_of(sent[i]);
    picture.nodes.push_back(std::move(node));
  }
}

RankState state_of(char letter) {
  constexpr std::string_view letters = "nrdfklhw";
  return letters.contains(letter) ? static_cast<RankState>(letter) : RankState::waits;
}

int pid_in(const json& value) {
  const std::size_t pid = size_of(value);
  return std::in_range<int>(pid) ? static_cast<int>(pid) : 0;
}

std::optional<int> code_in(const json& value) {
  const std::size_t code = size_of(value);
  constexpr std::size_t most = 255;
  return value.is_number_integer() && code <= most ? std::optional(static_cast<int>(code))
                                                   : std::nullopt;
}

std::vector<Outside> lines_in(const json& value) {
  std::vector<Outside> lines;
  if (!value.is_array()) return lines;
  for (const json& line : value) {
    if (lines.size() == meter::most_last_lines) break;
    if (line.is_string()) lines.emplace_back(line.get<std::string>());
  }
  return lines;
}

void read_ranks(const json& figures, Picture& picture) {
  const Column cpu(figures, "cpu"), memory(figures, "memory"), age(figures, "output_age"),
      gpu(figures, "gpu"), gpu_memory(figures, "gpu_memory"), line(figures, "line"),
      pid(figures, "pid"), lines(figures, "lines"), code(figures, "code");
  const std::string states = text_at(figures, "state");
  picture.ranks.reserve(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    picture.ranks.push_back({state_of(states[i]), number_of(cpu[i]), number_of(memory[i]),
                             number_of(age[i]), number_of(gpu[i]), number_of(gpu_memory[i]),
                             line.text(i), pid_in(pid[i]), lines_in(lines[i]), code_in(code[i])});
  }
}

// Each node's ranks are among all.
bool fits_together(const Picture& picture) {
  return std::ranges::all_of(picture.nodes, [&](const Picture::Node& node) {
    return node.first_rank <= picture.ranks.size() &&
           node.ranks <= picture.ranks.size() - node.first_rank;
  });
}

bool is_loss(const model::Cause& cause) {
  return cause.kind == model::CauseKind::node_lost || cause.kind == model::CauseKind::agent_lost;
}

Picture::Rank& rank_at(Picture& picture, int rank) {
  static Picture::Rank elsewhere;
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < picture.ranks.size() ? picture.ranks[index] : elsewhere;
}

void mark_the_failed(const model::AttemptRecord& last, Picture& picture) {
  const std::optional<model::Cause>& cause = last.cause;
  if (!cause) return;
  for (const model::FailedToo& some : last.failed_too) {
    if (some.stopped) continue;
    for (const int number : some.ranks) {
      Picture::Rank& rank = rank_at(picture, number);
      rank.state = RankState::failed;
      if (!some.signal) rank.code = some.exit_code;
      rank.line = some.message;
    }
  }
  for (const Picture::Node& node : picture.nodes) {
    if (!is_loss(*cause) || node.name.raw() != cause->node.raw()) continue;
    for (std::size_t i = 0; i < node.ranks; ++i) {
      picture.ranks[node.first_rank + i].state = RankState::lost;
    }
  }
  if (!cause->rank || cause->kind == model::CauseKind::hang) return;
  Picture::Rank& rank = rank_at(picture, *cause->rank);
  const bool has_failed = cause->kind != model::CauseKind::ended_early;
  rank.state = has_failed ? RankState::failed : RankState::done;
  if (has_failed && !cause->signal) rank.code = cause->exit_code;
  rank.lines = cause->last_output;
  if (!rank.lines.empty()) rank.line = rank.lines.back();
}

}  // namespace

Picture last_picture(const model::RunRecord& run, std::string_view id) {
  const model::AttemptRecord& last = model::last_attempt(run);
  Picture picture;
  picture.run = run;
  picture.id = std::string(id);
  picture.stage = "over";
  picture.now = model::if_known(run.ended);
  picture.joined = static_cast<int>(last.nodes.size());
  for (const model::NodeRecord& node : last.nodes) {
    const std::size_t first = picture.ranks.size();
    const auto ranks = static_cast<std::size_t>(std::max(node.nproc, 0));
    Picture::Node& own = picture.nodes.emplace_back();
    own.name = node.name;
    own.location = node.location;
    own.logs = node.logs;
    own.first_rank = first;
    own.ranks = ranks;
    picture.ranks.resize(first + ranks);
  }
  for (Picture::Rank& rank : picture.ranks) {
    rank.state = last.cause ? RankState::stopped : RankState::done;
  }
  mark_the_failed(last, picture);
  return picture;
}

std::optional<std::size_t> newest_to_speak(const Picture& picture, std::size_t first,
                                           std::size_t end) {
  std::optional<std::size_t> newest;
  const auto silence = [&](std::size_t rank) {
    return picture.ranks[rank].silence_s.value_or(std::numeric_limits<double>::infinity());
  };
  for (std::size_t i = first; i < std::min(end, picture.ranks.size()); ++i) {
    if (picture.ranks[i].line.empty()) continue;
    if (!newest || silence(i) < silence(*newest)) newest = i;
  }
  return newest;
}

const Picture::Place* place_of(const Picture& picture, std::size_t rank) {
  const auto found = std::ranges::find_if(picture.hang_places, [&](const Picture::Place& place) {
    return names_rank(place.ranks, rank);
  });
  return found == picture.hang_places.end() ? nullptr : &*found;
}

Result<Picture> picture_in(const json& object) {
  if (member(object, "schema") != "toprun.live/1") {
    return fail("the job's answer is not understood",
                "the answer does not have the schema toprun.live/1");
  }
  const json& nodes = member(object, "nodes");
  const json& figures = member(object, "figures");
  const json& ranks = member(figures, "ranks");
  if (Column(nodes, "name").size() > most_pictured_nodes ||
      text_at(ranks, "state").size() > most_pictured_ranks) {
    return fail("the job's answer is not understood", "the answer has too many nodes or ranks");
  }
  Picture picture;
  read_job(member(object, "job"), picture);
  read_nodes(nodes, member(figures, "nodes"), picture);
  read_ranks(ranks, picture);
  if (!fits_together(picture)) {
    return fail("the job's answer is not understood",
                "a node has ranks that are not in the list of all ranks");
  }
  return picture;
}

}  // namespace toprun::snapshot
