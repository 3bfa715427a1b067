#include "run/conductor/hang_watch.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "run/conductor/coordinator.h"
#include "run/conductor/settings.h"

// What the coordinator does about ranks that make no progress.
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
  hang.next = hang::next_of(hung.verdict);
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

// A hang is when no rank of any node has made progress for the time limit and one of them waits for
// another: ranks that all sleep, say, wait for no rank. A rank that ends makes progress.
std::optional<SteadyTime> HangWatch::due(const Conductor& conductor) const {
  if (!limits_.hang || is_reported_ || conductor.is_stopping()) return std::nullopt;
  std::optional<SteadyTime> since;
  bool some_communicate = false;
  for (std::size_t part = 0; part < still_.size(); ++part) {
    if (conductor.has_gone(part)) continue;
    const auto& still = still_[part];
    if (!still) return std::nullopt;
    since = std::max(since.value_or(still->since), still->since);
    some_communicate = some_communicate || still->some_communicate;
  }
  if (!since || !some_communicate) return std::nullopt;
  return std::max(*since, progress_) + *limits_.hang;
}

std::optional<SteadyTime> HangWatch::wake_at(const Conductor& conductor) const {
  return look_ ? look_->ends : due(conductor);
}

void HangWatch::passed(SteadyTime now, const Conductor& conductor) {
  if (look_) {
    if (now < look_->ends) return;
    if (only_the_silent_may_wait(*look_) && now < look_->silent_until) {
      look_->ends = look_->silent_until;
    } else {
      end_look(now, conductor);
    }
    return;
  }
  const auto at = due(conductor);
  if (at && now >= *at) look_at_ranks(true, now, conductor);
}

// A node that does not answer may be one whose agent stands still for a moment, and whose ranks
// have ended like all others. Once a loss would have been noticed it is alive.
bool HangWatch::only_the_silent_may_wait(const Inspection& look) {
  return look.is_hang && !look.is_alarm && look.missing > 0 && !look.groups.some_communicate();
}

void HangWatch::look_at_ranks(bool is_hang, SteadyTime now, const Conductor& conductor) {
  Inspection look;
  look.number = next_look_++;
  look.is_hang = is_hang;
  look.ends = now + look_limit;
  look.latest = now + recorded_limit;
  look.silent_until = now + limits_.silence;
  look.has_answered.resize(ranks_.size());
  look.to_come.resize(ranks_.size());
  for (std::size_t part = 0; part < ranks_.size(); ++part) {
    if (!conductor.has_gone(part)) ++look.missing;
  }
  wishes_.emplace_back(Ask{look.number, is_hang});
  look_ = std::move(look);
}

void HangWatch::changed(std::size_t part, std::optional<hang::Still> still, SteadyTime now,
                        const Conductor& conductor) {
  still_[part] = still;
  if (still) return;
  progress_ = now;
  if (std::exchange(is_reported_, false) && !conductor.is_stopping()) wishes_.emplace_back(Over{});
}

// A rank whose watchdog has timed out tears everything down, within seconds: the look is at once,
// and once in an attempt, however many ranks follow it.
void HangWatch::alarmed(hang::Alarm alarm, SteadyTime now, const Conductor& conductor) {
  if (!limits_.hang || alarm_ || is_reported_ || conductor.is_stopping()) return;
  alarm_ = alarm;
  if (!look_) look_at_ranks(true, now, conductor);
  look_->is_alarm = true;
}

void HangWatch::asked(int question, SteadyTime now, const Conductor& conductor) {
  if (!look_) look_at_ranks(false, now, conductor);
  look_->questions.push_back(question);
}

void HangWatch::seen(std::size_t part, model::RanksSeen& seen, SteadyTime now,
                     const Conductor& conductor) {
  if (!look_ || look_->number != seen.look) return;
  if (std::exchange(look_->has_answered[part], 1) != 0) return;
  for (hang::Group& group : seen.groups) look_->groups.add(std::move(group.standing), group.ranks);
  --look_->missing;
  if (seen.more > 0 && look_->is_hang) {
    look_->to_come[part] = seen.more;
    look_->ends = look_->latest;
  }
  end_look_if_all_is_said(now, conductor);
}

void HangWatch::reported(std::size_t part, model::RanksReported& reported, SteadyTime now,
                         const Conductor& conductor) {
  if (!look_ || look_->number != reported.look || look_->to_come[part] == 0) return;
  --look_->to_come[part];
  recorder::add(look_->recorded, std::move(reported.recorded));
  if (look_->nccl.empty()) look_->nccl = std::move(reported.nccl);
  end_look_if_all_is_said(now, conductor);
}

// A root that was stopped has the words of ranks that went on meanwhile behind an answer in its
// sockets: a hang is not reported before they were heard.
void HangWatch::end_look_if_all_is_said(SteadyTime now, const Conductor& conductor) {
  const bool none_to_come =
      std::ranges::all_of(look_->to_come, [](int count) { return count == 0; });
  if (look_->missing > 0 || !none_to_come) return;
  if (!look_->is_hang || look_->is_alarm) return end_look(now, conductor);
  look_->ends = std::min(look_->ends, now + hang_confirm_delay);
}

std::vector<int> HangWatch::unseen_by(const Inspection& look, const Conductor& conductor) const {
  std::vector<int> unseen;
  for (std::size_t part = 0; part < ranks_.size(); ++part) {
    if (look.has_answered[part] != 0 || conductor.has_gone(part)) continue;
    for (int i = 0; i < ranks_[part].count; ++i) unseen.push_back(ranks_[part].first + i);
  }
  std::ranges::sort(unseen);
  return unseen;
}

// Ends it with those members that have answered.
void HangWatch::end_look(SteadyTime now, const Conductor& conductor) {
  Inspection look = *std::exchange(look_, std::nullopt);
  hang::Verdict verdict =
      hang::judge(std::move(look.groups).take(), unseen_by(look, conductor), node_of_);
  if (!look.questions.empty()) wishes_.emplace_back(Answer{std::move(look.questions), verdict});
  // A rank may have moved meanwhile.
  const auto at = due(conductor);
  if (!look.is_alarm && (!at || now < *at)) return;
  if (!look.is_hang) {  // it was only asked where the ranks stand
    look_at_ranks(true, now, conductor);
    look_->is_alarm = look.is_alarm;
    return;
  }
  hang::add_recorded(verdict, look.recorded);
  hang::add_reported_by_nccl(verdict, look.nccl);
  is_reported_ = true;
  wishes_.emplace_back(Hung{std::move(verdict), look.is_alarm ? alarm_ : std::nullopt});
}

std::vector<int> HangWatch::take_questions() {
  const auto look = std::exchange(look_, std::nullopt);
  return look ? look->questions : std::vector<int>();
}

}  // namespace toprun::run
