#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/text/clock.h"
#include "decide/hang/stillness.h"
#include "decide/hang/verdict.h"
#include "run/conductor/conductor.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// Watches whether an attempt's ranks make progress: when that is a hang, where they stand, and
// which rank is to blame. Pure: it gets what members say, and returns questions to ask and hangs to
// report.
//
//   watching --all stand still for the limit, an alarm, a question--> looking
//   looking --all have answered, or time--> watching, or once more looking
class HangWatch {
 public:
  // Of a part.
  struct Ranks {
    int first = 0;
    int count = 0;
  };
  struct Limits {
    std::optional<std::chrono::milliseconds> hang;  // unset: no hang is looked for
    std::chrono::milliseconds silence{0};           // a lost node is noticed within this time
  };

  // Ask the members that have ranks with LookAtRanks.
  struct Ask {
    int look = 0;
    bool is_hang = false;
  };
  struct Answer {
    std::vector<int> questions;
    hang::Verdict verdict;
  };
  struct Hung {
    hang::Verdict verdict;
    std::optional<hang::Alarm> alarm;
  };
  // A rank makes progress after a hang was reported.
  struct Over {};
  using Wish = std::variant<Ask, Answer, Hung, Over>;

  // `first_look`: the number of its first look; a member may still answer one of an earlier
  // attempt.
  HangWatch(Limits limits, std::vector<Ranks> ranks, hang::NodeOf node_of, int first_look)
      : limits_(limits),
        ranks_(std::move(ranks)),
        node_of_(std::move(node_of)),
        next_look_(first_look) {
    still_.resize(ranks_.size());
  }

  void changed(std::size_t part, std::optional<hang::Still> still, SteadyTime now,
               const Conductor& conductor);
  // A rank has ended: the others' words may still be on their way.
  void progressed(SteadyTime now) { progress_ = now; }
  void alarmed(hang::Alarm alarm, SteadyTime now, const Conductor& conductor);
  void asked(int question, SteadyTime now, const Conductor& conductor);
  void seen(std::size_t part, model::RanksSeen& seen, SteadyTime now, const Conductor& conductor);
  void told(std::size_t part, model::RanksTold& told, SteadyTime now, const Conductor& conductor);
  void passed(SteadyTime now, const Conductor& conductor);

  std::optional<SteadyTime> wake_at(const Conductor& conductor) const;
  std::vector<Wish> take_wishes() { return std::exchange(wishes_, {}); }
  // At the attempt's end: those that nothing answers any more.
  std::vector<int> take_questions();
  // A hang was reported, and no rank has moved since.
  bool is_told() const { return is_told_; }
  int next_look() const { return next_look_; }

 private:
  // A look at all ranks that is under way.
  struct Look {
    int number = 0;
    SteadyTime ends{};
    SteadyTime latest{};             // … if flight recorders are awaited
    SteadyTime silent_until{};       // … if only nodes that have not answered may wait
    std::vector<char> has_answered;  // by part
    std::size_t missing = 0;         // members that have not
    std::vector<int> to_come;        // by part: so many RanksTold
    hang::Groups groups;
    recorder::Summary recorded;
    std::vector<ras::Finding> nccl;
    bool is_hang = false;        // not only a question: it asks the recorders too
    std::vector<int> questions;  // that it answers
    bool is_alarm = false;       // a rank's word began it, or came meanwhile
  };

  std::optional<SteadyTime> due(const Conductor& conductor) const;
  void look_at_ranks(bool is_hang, SteadyTime now, const Conductor& conductor);
  static bool only_the_silent_may_wait(const Look& look);
  void end_look_if_all_is_said(SteadyTime now, const Conductor& conductor);
  void end_look(SteadyTime now, const Conductor& conductor);
  std::vector<int> unseen_by(const Look& look, const Conductor& conductor) const;

  Limits limits_;
  std::vector<Ranks> ranks_;  // by part
  hang::NodeOf node_of_;
  // By part: since when its ranks have made no progress.
  std::vector<std::optional<hang::Still>> still_;
  SteadyTime progress_{};             // the last word of a rank that moved or ended
  bool is_told_ = false;              // until a rank moves again
  std::optional<hang::Alarm> alarm_;  // the first rank's word that it has given up waiting
  std::optional<Look> look_;
  int next_look_;
  std::vector<Wish> wishes_;
};

}  // namespace toprun::run
