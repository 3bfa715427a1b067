#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "run/conductor/coordinator.h"

// How long the phases of an attempt took, and which nodes.
namespace toprun::run {

using model::Arrivals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Ranks that are missing for less are on their way.
constexpr std::chrono::seconds worth_a_line{1};

// Of the nodes that joined for this attempt.
std::optional<model::Spread> Coordinator::time_to_join() const {
  const SteadyTime began = course_.attempts.back().phases.began;
  std::vector<model::Share> shares;
  for (const Part& part : attempt_.parts) {
    const Node& node = *roster_.find(part.agent);
    if (node.linked_at < began) continue;
    shares.push_back(
        {duration_cast<milliseconds>(node.linked_at - began), std::nullopt, part.host});
  }
  return model::spread_of(shares);
}

std::optional<model::Spread> Coordinator::time_to_start() const {
  std::vector<model::Share> shares;
  for (const Part& part : attempt_.parts) {
    const auto took = duration_cast<milliseconds>(*part.started - attempt_.start_sent);
    shares.push_back({took, std::nullopt, part.host});
  }
  return model::spread_of(shares);
}

// Ranks may come to the store before the root hears that the last of them has started.
void Coordinator::arrived(const Arrivals& arrivals, SteadyTime reported) {
  if (attempt_.started < attempt_.parts.size()) {
    attempt_.arrivals = {arrivals, reported};
    return;
  }
  AttemptCourse& course = course_now();
  const bool had_met = course.phases.met.has_value();
  const Meeting meeting = meeting_of(arrivals, ranks_of_members(), reported);
  course.phases.first_connect = meeting.first_joined;
  course.phases.imported = course.phases.last_connect = meeting.all_joined;
  course.phases.met = meeting.all_met;
  course.spreads.prefetch = model::spread_of(attempt_.prefetched);
  course.spreads.import = meeting.import;
  course.spreads.first_collective = meeting.first_collective;
  course.awaited = meeting.awaited;
  // When the last rank has come to the store, most are at once at their first collective too.
  const bool has_just_come = meeting.all_joined && reported - *meeting.all_joined < worth_a_line;
  if (settings_.tells_orders && course.awaited && !has_just_come) {
    tell_user(model::awaited_text(*course.awaited));
  }
  // Some ranks' names are known only when they have met.
  const bool is_named = meeting.all_met || (meeting.import && meeting.import->rank);
  if (!attempt_.import_is_reported && meeting.all_joined && is_named) {
    attempt_.import_is_reported = true;
    tell_phase("all ranks have connected to the store", *meeting.all_joined,
               {.prefetch = course.spreads.prefetch, .import = meeting.import});
  }
  if (!had_met && meeting.all_met) {
    tell_phase("all ranks have reached their first collective", *meeting.all_met,
               {.first_collective = meeting.first_collective});
  }
  actions_.emplace_back(KeepRecord{});
}

std::vector<MemberRanks> Coordinator::ranks_of_members() const {
  std::vector<MemberRanks> all;
  all.reserve(attempt_.parts.size());
  for (const Part& part : attempt_.parts) {
    MemberRanks ranks{part.host,
                      {},
                      part.plan.first_rank,
                      part.plan.nproc,
                      part.pids,
                      *part.started,
                      &part == &attempt_.parts[attempt_.store_host]};
    if (const Node* const node = roster_.find(part.agent)) {
      ranks.addresses = node->join.addresses;
      const std::string& seen = node->is_own() ? root_address_ : node->address;
      if (!seen.empty()) ranks.addresses.push_back(seen);
    }
    all.push_back(std::move(ranks));
  }
  return all;
}

bool Coordinator::is_launching() const {
  if (stage_ < Stage::running) return true;
  return stage_ == Stage::running && !attempt_.conductor->is_stopping() &&
         attempt_.conductor->ended_ranks() == 0 && !course_.attempts.back().phases.met;
}

model::Launch Coordinator::launch(SteadyTime now) const {
  const AttemptCourse& course = course_.attempts.back();
  model::Launch launch;
  launch.attempt = course.number;
  launch.elapsed = duration_cast<milliseconds>(now - course.phases.began);
  launch.counts_ranks = settings_.ranks_in_place;
  launch.total = attempt_.parts.size();
  switch (stage_) {
    case Stage::gathering:
      launch.step = model::Launch::Step::join;
      launch.ready = static_cast<std::size_t>(roster_.present());
      launch.total = static_cast<std::size_t>(roster_.size().most);
      launch.missing = roster_.missing(settings_.node_names);
      break;
    case Stage::arranging:
      launch.step = model::Launch::Step::order;
      break;
    case Stage::preparing:
      launch.step = model::Launch::Step::prepare;
      launch.ready = attempt_.parts.size() - attempt_.late;
      launch.missing = awaited_members();
      break;
    default:
      launch.step = model::Launch::Step::meet;
      launch.ready = attempt_.started;
      launch.awaited = course.awaited;
      for (const model::NodeRecord& node : course.nodes) {
        launch.ranks += static_cast<std::size_t>(node.nproc);
      }
      if (attempt_.started == attempt_.parts.size()) break;
      launch.step = model::Launch::Step::start;
      launch.missing = awaited_members();
  }
  return launch;
}

// Of this attempt: the nodes that are still preparing, or have not started its ranks; once they are
// stopped, those that have not said that they are gone.
std::vector<std::string> Coordinator::awaited_members() const {
  std::vector<std::string> names;
  const bool is_stopping = attempt_.conductor && attempt_.conductor->is_stopping();
  for (std::size_t i = 0; i < attempt_.parts.size(); ++i) {
    const Part& part = attempt_.parts[i];
    const Node* const node = roster_.find(part.agent);
    bool is_through = part.started.has_value();
    if (stage_ == Stage::preparing) {
      is_through = node != nullptr && node->state != NodeState::preparing;
    } else if (is_stopping) {
      is_through = attempt_.conductor->has_gone(i);
    }
    if (!is_through) names.push_back(part.host);
  }
  return names;
}

void Coordinator::tell_phase(std::string_view what, SteadyTime end, const model::Spreads& spreads) {
  if (!settings_.tells_orders) return;
  std::string line =
      fmt::format("{} after {}", what, duration_text(end - course_now().phases.began));
  for (const std::string& slowest : model::slowest_lines(spreads)) line += "; " + slowest;
  tell_user(std::move(line));
}

}  // namespace toprun::run
