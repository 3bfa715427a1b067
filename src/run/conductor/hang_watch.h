#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/text/clock.h"
#include "decide/hang/hang_verdict.h"
#include "decide/hang/stillness.h"
#include "run/conductor/conductor.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// Watches whether an attempt's ranks make progress, and decides when a lack of progress is a hang.
// To find where the ranks are and which rank is to blame, HangWatch asks all members about their
// ranks. One round of these questions and answers is called a look. Performs no I/O: it receives
// the members' reports, and returns questions to ask and hangs to report.
//
//   watching --no progress for the limit, an alarm, or a question--> looking
//   looking --all have answered, or time-out--> watching, or once more looking
class HangWatch {
 public:
  // The ranks of one member. In the functions below, the parameter `part` is the member's index in
  // the attempt.
  struct Ranks {
    int first = 0;
    int count = 0;
  };
  struct Limits {
    std::optional<std::chrono::milliseconds> hang;  // ranks without progress for this time hang;
                                                    // unset: hangs are not detected
    std::chrono::milliseconds silence{0};           // a lost node is detected within this time
  };

  // Send LookAtRanks to the members that have ranks.
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
  // A rank makes progress again after a hang was reported.
  struct Over {};
  using Wish = std::variant<Ask, Answer, Hung, Over>;

  // `first_look`: the number of the first look (round of questions). By this number, HangWatch
  // recognises a member's late answer to a look of an earlier attempt.
  HangWatch(Limits limits, std::vector<Ranks> ranks, hang::NodeOf node_of, int first_look)
      : limits_(limits),
        ranks_(std::move(ranks)),
        node_of_(std::move(node_of)),
        next_look_(first_look) {
    still_.resize(ranks_.size());
  }

  void changed(std::size_t part, std::optional<hang::Still> still, SteadyTime now,
               const Conductor& conductor);
  // A rank has ended. The rank's end counts as progress, because reports from other ranks may still
  // be on their way.
  void progressed(SteadyTime now) { progress_ = now; }
  void alarmed(hang::Alarm alarm, SteadyTime now, const Conductor& conductor);
  void asked(int question, SteadyTime now, const Conductor& conductor);
  void seen(std::size_t part, model::RanksSeen& seen, SteadyTime now, const Conductor& conductor);
  void reported(std::size_t part, model::RanksReported& reported, SteadyTime now,
                const Conductor& conductor);
  void passed(SteadyTime now, const Conductor& conductor);

  std::optional<SteadyTime> wake_at(const Conductor& conductor) const;
  std::vector<Wish> take_wishes() { return std::exchange(wishes_, {}); }
  // Returns, at the attempt's end, the users' questions that can no longer be answered.
  std::vector<int> take_questions();
  // Whether a hang was reported and no rank has made progress since.
  bool is_reported() const { return is_reported_; }
  int next_look() const { return next_look_; }

 private:
  // A look (round of questions) that has not ended yet.
  struct Inspection {
    int number = 0;
    SteadyTime ends{};
    SteadyTime latest{};             // the limit if answers from flight recorders are awaited
    SteadyTime silent_until{};       // the limit if only nodes that have not answered may wait for
                                     // other ranks
    std::vector<char> has_answered;  // by part
    std::size_t missing = 0;         // members that have not answered
    std::vector<int> to_come;        // by part: the number of RanksReported still expected
    hang::Groups groups;
    recorder::Summary recorded;
    std::vector<ras::Finding> nccl;
    bool is_hang = false;        // true: this may be a hang, so the flight recorders are queried
                                 // too; false: only a user's question
    std::vector<int> questions;  // the questions that this look answers
    bool is_alarm = false;       // a rank's alarm started the look, or arrived during the look
  };

  std::optional<SteadyTime> due(const Conductor& conductor) const;
  void look_at_ranks(bool is_hang, SteadyTime now, const Conductor& conductor);
  static bool only_the_silent_may_wait(const Inspection& look);
  void end_look_if_all_is_said(SteadyTime now, const Conductor& conductor);
  void end_look(SteadyTime now, const Conductor& conductor);
  std::vector<int> unseen_by(const Inspection& look, const Conductor& conductor) const;

  Limits limits_;
  std::vector<Ranks> ranks_;  // by part
  hang::NodeOf node_of_;
  // Indexed by `part`: since when the member's ranks have made no progress.
  std::vector<std::optional<hang::Still>> still_;
  SteadyTime progress_{};             // the last report of a rank that made progress or ended
  bool is_reported_ = false;          // until a rank makes progress again
  std::optional<hang::Alarm> alarm_;  // the first report of a rank that has stopped waiting
  std::optional<Inspection> look_;
  int next_look_;
  std::vector<Wish> wishes_;
};

}  // namespace toprun::run
