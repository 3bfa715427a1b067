#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "run/conductor/coordinator.h"

// What the coordinator does about ranks that make no progress (hang_watch.h).
namespace toprun::run {

namespace {

SteadyTime earlier(const std::optional<SteadyTime>& a, SteadyTime b) {
  return a ? std::min(*a, b) : b;
}

}  // namespace

std::optional<SteadyTime> Coordinator::wake_while_running() const {
  std::optional<SteadyTime> at = attempt_.conductor->wake_at();
  if (interruption_ && interruption_->remind_at) at = earlier(at, *interruption_->remind_at);
  if (const auto due = last_word_due()) at = earlier(at, *due);
  if (const auto due = report_due()) at = earlier(at, *due);
  if (const auto due = attempt_.watch->wake_at(*attempt_.conductor)) at = earlier(at, *due);
  return at;
}

HangWatch Coordinator::new_watch() const {
  std::vector<HangWatch::Ranks> ranks;
  for (const Part& part : attempt_.parts) ranks.push_back({part.plan.first_rank, part.plan.nproc});
  return {{settings_.hang_timeout, settings_.silence_limit},
          std::move(ranks),
          node_of_rank(),
          attempt_.first_look};
}

void Coordinator::happened(const PlacesAsked& asked) {
  if (stage_ != Stage::running) return tell_places({asked.question}, {});
  attempt_.watch->asked(asked.question, now_.steady, *attempt_.conductor);
}

// Any client of the store may write any number.
void Coordinator::alarmed(std::size_t part, hang::Alarm alarm) {
  if (part != attempt_.store_host) return;
  if (alarm.rank >= attempt_.parts[part].plan.world_size) alarm.rank.reset();
  attempt_.watch->alarmed(alarm, now_.steady, *attempt_.conductor);
}

void Coordinator::carry_out_wishes() {
  for (HangWatch::Wish& wish : attempt_.watch->take_wishes()) {
    std::visit([this](auto& what) { carry_out(what); }, wish);
  }
}

void Coordinator::carry_out(HangWatch::Ask& ask) {
  for (std::size_t part = 0; part < attempt_.parts.size(); ++part) {
    if (attempt_.conductor->has_gone(part)) continue;
    send(*roster_.find(attempt_.parts[part].agent), model::LookAtRanks{ask.look, ask.is_hang});
  }
}

void Coordinator::carry_out(HangWatch::Answer& answer) {
  tell_places(std::move(answer.questions), answer.verdict);
}

void Coordinator::carry_out(HangWatch::Over&) {
  course_now().hang->over = now_.wall;
  tell_user("a rank makes progress again");
  actions_.emplace_back(KeepRecord{});
}

void Coordinator::carry_out(HangWatch::Hung& hung) {
  model::Hang hang;
  hang.noticed = now_.wall;
  hang.after = *settings_.hang_timeout;
  hang.alarm = hung.alarm;
  const hang::NodeOf node_of = node_of_rank();
  for (const int rank : hung.verdict.suspects) hang.suspected.push_back(node_of(rank));
  const std::vector<std::string> nodes = hang::suspected_nodes(hung.verdict, node_of);
  hang.lines = hang::lines_of(hung.verdict, node_of);
  hang.verdict = std::move(hung.verdict);
  const std::string message = model::headline(hang);
  const std::string node = nodes.size() == 1 ? nodes.front() : std::string();
  course_now().hang = std::move(hang);
  actions_.emplace_back(TellHang{});
  actions_.emplace_back(KeepRecord{});
  if (settings_.on_hang == OnHang::report) return;
  attempt_.conductor->hung(message, node, settings_.on_hang == OnHang::abort, now_.steady);
}

void Coordinator::tell_places(std::vector<int> questions, const hang::Verdict& verdict) {
  model::Places places;
  places.attempt = course_now().number;
  places.groups = verdict.groups;
  places.unseen = verdict.unseen;
  places.lines = hang::lines_of(verdict, node_of_rank(), hang::Shown::all_stacks);
  actions_.emplace_back(TellPlaces{std::move(questions), std::move(places)});
}

// By the attempt's plan, if it has one.
hang::NodeOf Coordinator::node_of_rank() const {
  std::map<int, std::string> by_first_rank;
  for (const Part& part : attempt_.parts) {
    if (!attempt_.is_arranged) break;
    if (part.plan.nproc > 0) by_first_rank.emplace(part.plan.first_rank, part.host);
  }
  return [by_first_rank = std::move(by_first_rank)](int rank) -> std::string {
    const auto next = by_first_rank.upper_bound(rank);
    return next == by_first_rank.begin() ? std::string() : std::prev(next)->second;
  };
}

}  // namespace toprun::run
