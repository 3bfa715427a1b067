#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "run/coordinator.h"

// Ranks that make no progress: when that is a hang, who is to blame, and what follows.
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
  if (attempt_.look) return earlier(at, attempt_.look->ends);
  if (const auto due = hang_due()) at = earlier(at, *due);
  return at;
}

// A hang is when no rank of any node has made progress for the time limit and one of them waits for
// another: ranks that all sleep, say, wait for nobody. A rank that ends makes progress: the others'
// words may still be on their way.
std::optional<SteadyTime> Coordinator::hang_due() const {
  if (!settings_.hang_timeout || attempt_.hang_is_told || attempt_.conductor->is_stopping()) {
    return std::nullopt;
  }
  std::optional<SteadyTime> since;
  bool some_communicate = false;
  for (std::size_t part = 0; part < attempt_.parts.size(); ++part) {
    if (attempt_.conductor->has_gone(part)) continue;
    const auto& still = attempt_.parts[part].still;
    if (!still) return std::nullopt;
    since = std::max(since.value_or(still->since), still->since);
    some_communicate = some_communicate || still->some_communicate;
  }
  if (!since || !some_communicate) return std::nullopt;
  return std::max(*since, attempt_.progress) + *settings_.hang_timeout;
}

void Coordinator::look_for_a_hang() {
  if (attempt_.look) {
    Look& look = *attempt_.look;
    if (now_.steady < look.ends) return;
    if (only_the_silent_may_wait(look) && now_.steady < look.silent_until) {
      look.ends = look.silent_until;
    } else {
      end_look();
    }
    return;
  }
  const auto due = hang_due();
  if (due && now_.steady >= *due) look_at_ranks(Cause::hang);
}

// A node that does not answer may be one whose agent stands still for a moment, and whose ranks
// have ended like all others. Once a loss would have been noticed it is alive.
bool Coordinator::only_the_silent_may_wait(const Look& look) {
  return look.is_hang && !look.is_alarm && look.missing > 0 && !look.groups.some_communicate();
}

void Coordinator::look_at_ranks(Cause cause) {
  Look look;
  look.number = looks_++;
  look.is_hang = cause == Cause::hang;
  look.ends = now_.steady + look_limit;
  look.latest = now_.steady + recorded_limit;
  look.silent_until = now_.steady + settings_.silence_limit;
  look.has_answered.resize(attempt_.parts.size());
  look.to_come.resize(attempt_.parts.size());
  for (std::size_t part = 0; part < attempt_.parts.size(); ++part) {
    if (attempt_.conductor->has_gone(part)) continue;
    const Node* const node = roster_.find(attempt_.parts[part].agent);
    send(*node, rendezvous::LookAtRanks{look.number, look.is_hang});
    ++look.missing;
  }
  attempt_.look = std::move(look);
}

void Coordinator::stillness_changed(std::size_t part, std::optional<hang::Still> still) {
  attempt_.parts[part].still = still;
  if (!still) attempt_.progress = now_.steady;
  if (still || !std::exchange(attempt_.hang_is_told, false)) return;
  if (attempt_.conductor->is_stopping()) return;
  course_now().hang->over = now_.wall;
  tell_user("a rank makes progress again");
  actions_.emplace_back(KeepRecord{});
}

// A rank whose watchdog has timed out tears everything down, within seconds: the look is at once,
// and once in an attempt, however many ranks follow it.
void Coordinator::alarmed(std::size_t part, hang::Alarm alarm) {
  if (part != attempt_.store_host || !settings_.hang_timeout) return;
  if (attempt_.alarm || attempt_.hang_is_told || attempt_.conductor->is_stopping()) return;
  // Any client may write any number.
  if (alarm.rank >= attempt_.parts[part].plan.world_size) alarm.rank.reset();
  attempt_.alarm = alarm;
  if (!attempt_.look) look_at_ranks(Cause::hang);
  attempt_.look->is_alarm = true;
}

void Coordinator::seen(std::size_t part, rendezvous::RanksSeen& seen) {
  if (!attempt_.look || attempt_.look->number != seen.look) return;
  Look& look = *attempt_.look;
  if (std::exchange(look.has_answered[part], 1) != 0) return;
  for (hang::Group& group : seen.groups) look.groups.add(std::move(group.standing), group.ranks);
  --look.missing;
  if (seen.more > 0 && look.is_hang) {
    look.to_come[part] = seen.more;
    look.ends = look.latest;
  }
  end_look_if_all_is_said();
}

void Coordinator::told(std::size_t part, rendezvous::RanksTold& told) {
  if (!attempt_.look || attempt_.look->number != told.look) return;
  Look& look = *attempt_.look;
  if (look.to_come[part] == 0) return;
  --look.to_come[part];
  recorder::add(look.recorded, std::move(told.recorded));
  if (look.nccl.empty()) look.nccl = std::move(told.nccl);
  end_look_if_all_is_said();
}

// A root that was stopped has the words of ranks that went on meanwhile behind an answer in its
// sockets: a hang is not told before they were heard.
void Coordinator::end_look_if_all_is_said() {
  Look& look = *attempt_.look;
  const bool none_to_come = std::ranges::all_of(look.to_come, [](int count) { return count == 0; });
  if (look.missing > 0 || !none_to_come) return;
  if (!look.is_hang || look.is_alarm) return end_look();
  look.ends = std::min(look.ends, now_.steady + last_objections);
}

std::vector<int> Coordinator::ranks_unseen_by(const Look& look) const {
  std::vector<int> unseen;
  for (std::size_t part = 0; part < attempt_.parts.size(); ++part) {
    if (look.has_answered[part] != 0 || attempt_.conductor->has_gone(part)) continue;
    const rendezvous::Assignment& plan = attempt_.parts[part].plan;
    for (int i = 0; i < plan.nproc; ++i) unseen.push_back(plan.first_rank + i);
  }
  std::ranges::sort(unseen);
  return unseen;
}

// Ends it with those members that have answered.
void Coordinator::end_look() {
  Look look = *std::exchange(attempt_.look, std::nullopt);
  hang::Verdict verdict =
      hang::judge(std::move(look.groups).take(), ranks_unseen_by(look), node_of_rank());
  if (!look.questions.empty()) tell_places(std::move(look.questions), verdict);
  // A rank may have moved meanwhile.
  const auto due = hang_due();
  if (!look.is_alarm && (!due || now_.steady < *due)) return;
  if (!look.is_hang) {  // it was only asked where the ranks stand
    look_at_ranks(Cause::hang);
    attempt_.look->is_alarm = look.is_alarm;
    return;
  }
  hang::add_recorded(verdict, look.recorded);
  hang::add_told_by_nccl(verdict, look.nccl);
  hung(std::move(verdict), look.is_alarm ? attempt_.alarm : std::nullopt);
}

void Coordinator::happened(const PlacesAsked& asked) {
  if (stage_ != Stage::running) return tell_places({asked.question}, {});
  if (!attempt_.look) look_at_ranks(Cause::question);
  attempt_.look->questions.push_back(asked.question);
}

void Coordinator::tell_places(std::vector<int> questions, const hang::Verdict& verdict) {
  view::Places places;
  places.attempt = course_now().number;
  places.groups = verdict.groups;
  places.unseen = verdict.unseen;
  places.lines = hang::lines_of(verdict, node_of_rank(), hang::Shown::all_stacks);
  actions_.emplace_back(TellPlaces{std::move(questions), std::move(places)});
}

void Coordinator::hung(hang::Verdict verdict, std::optional<hang::Alarm> alarm) {
  attempt_.hang_is_told = true;
  view::Hang hang;
  hang.noticed = now_.wall;
  hang.after = *settings_.hang_timeout;
  hang.alarm = alarm;
  const hang::NodeOf node_of = node_of_rank();
  for (const int rank : verdict.suspects) hang.suspected.push_back(node_of(rank));
  const std::vector<std::string> nodes = hang::suspected_nodes(verdict, node_of);
  hang.lines = hang::lines_of(verdict, node_of);
  hang.verdict = std::move(verdict);
  const std::string message = view::headline(hang);
  const std::string node = nodes.size() == 1 ? nodes.front() : std::string();
  course_now().hang = std::move(hang);
  actions_.emplace_back(TellHang{});
  actions_.emplace_back(KeepRecord{});
  if (settings_.on_hang == OnHang::report) return;
  attempt_.conductor->hung(message, node, settings_.on_hang == OnHang::abort, now_.steady);
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
