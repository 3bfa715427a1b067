#include "bench/pairs/second_look.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "bench/tables/statistics.h"

namespace toprun::pairs {
namespace {

using Check = SecondPlan::Check;
using Nodes = std::vector<std::size_t>;

using Results = std::vector<std::vector<const Measured*>>;  // by round

// Rounds of controls that show how much healthy pairs vary.
constexpr std::size_t fewest_controls = 3;

bool is_whole(const Check& check, std::size_t played) {
  const auto was_played = [&](std::size_t round) { return round < played; };
  return std::ranges::all_of(check.suspect, was_played) &&
         std::ranges::all_of(check.control, was_played);
}

// The node from which a subject's directions are seen; a domain has none.
std::optional<std::size_t> seen_from(const Finding& finding, Subject subject) {
  if (finding.nodes.empty()) return std::nullopt;
  return finding.nodes[subject == Subject::second_node ? 1 : 0];
}

double in_unit(double pace, Figure figure) {
  if (pace <= 0) return 0;
  return figure == Figure::latency ? 1 / pace : pace;
}

// A pair's paces in both directions, the first seen from `node`. A domain's pairs are seen from
// nowhere: their slower direction counts, and the first pass has said which one it is.
struct Paces {
  double there, back;
};

Paces paces(const Measured& pair, std::optional<std::size_t> node, Figure figure) {
  const double from_a = pace(pair, 0, figure);
  const double to_a = pace(pair, 1, figure);
  if (!node) return {std::min(from_a, to_a), std::min(from_a, to_a)};
  return node == pair.b ? Paces{to_a, from_a} : Paces{from_a, to_a};
}

// The pace of the controls, seen as the suspect is. Without any, what was usual in the first pass
// has to do, where that was measured between the same nodes: with more load, so that only a node
// that does not reach it is slow.
double usual_pace(const Check& check, const Results& results, const Finding& finding,
                  std::optional<std::size_t> node, Figure figure) {
  std::vector<double> usual;
  for (const std::size_t round : check.control) {
    for (const Measured* pair : results[round]) {
      const auto [there, back] = paces(*pair, node, figure);
      usual.insert(usual.end(), {there, back});
    }
  }
  if (!usual.empty()) return bench::median(std::move(usual));
  const bool same_nodes = check.question.subject == Subject::itself && finding.kind != Kind::node;
  return same_nodes ? in_unit(finding.usual, figure) : 0;
}

// The pace of the slowest control round but one, each by the median of its pairs' slower
// directions: one control may be disturbed. No limit if the controls are fewer than three.
double slow_control(const Check& check, const Results& results, Figure figure) {
  std::vector<double> rounds;
  for (const std::size_t round : check.control) {
    std::vector<double> slower;
    for (const Measured* pair : results[round]) {
      slower.push_back(std::min(pace(*pair, 0, figure), pace(*pair, 1, figure)));
    }
    if (!slower.empty()) rounds.push_back(bench::median(std::move(slower)));
  }
  if (rounds.size() < fewest_controls) return std::numeric_limits<double>::infinity();
  std::ranges::nth_element(rounds, rounds.begin() + 1);
  return rounds[1];
}

// The suspect's paces in its best round: what is broken is slow in each. The pairs of a domain
// share its uplink, some of them unevenly, so that the median of a round's pairs counts.
Paces best_round(const Check& check, const Results& results, std::optional<std::size_t> node,
                 Figure figure) {
  Paces best{0, 0};
  for (const std::size_t round : check.suspect) {
    std::vector<double> there;
    std::vector<double> back;
    for (const Measured* pair : results[round]) {
      const Paces one = paces(*pair, node, figure);
      there.push_back(one.there);
      back.push_back(one.back);
    }
    if (there.empty()) continue;
    best.there = std::max(best.there, bench::median(std::move(there)));
    best.back = std::max(best.back, bench::median(std::move(back)));
  }
  return best;
}

// The direction that is slow by itself, if the other one is not. nullopt: both are, or the
// directions were not measured alone.
std::optional<Way> slow_alone(const Check& check, const Results& results,
                              std::optional<std::size_t> node, double slow_below) {
  double sends = 0;
  double receives = 0;
  for (const std::size_t round : check.suspect) {
    for (const Measured* pair : results[round]) {
      if (!node || pair->state != State::measured) continue;
      const bool is_first = *node != pair->b;
      sends = std::max(sends, is_first ? pair->alone_ab : pair->alone_ba);
      receives = std::max(receives, is_first ? pair->alone_ba : pair->alone_ab);
    }
  }
  const bool are_known = sends > 0 && receives > 0;
  if (!are_known || (sends < slow_below) == (receives < slow_below)) return std::nullopt;
  return sends < slow_below ? Way::out : Way::in;
}

Answer answer(const Check& check, const Results& results, const Finding& finding, Figure figure,
              const Thresholds& thresholds) {
  Answer out;
  const std::optional<std::size_t> node = seen_from(finding, check.question.subject);
  out.usual = usual_pace(check, results, finding, node, figure);
  // What gave no result needs nothing to be compared with: any result clears it.
  const bool gave_none = finding.reached == 0 && finding.hung + finding.failed > 0;
  const double slow_below = out.usual > 0 ? std::min(out.usual * (1 - thresholds.least_shortfall),
                                                     slow_control(check, results, figure))
                                          : std::numeric_limits<double>::min();
  for (const std::size_t round : check.suspect) {
    for (const Measured* pair : results[round]) {
      const auto [there, back] = paces(*pair, node, figure);
      ++out.pairs;
      if (std::min(there, back) < slow_below) ++out.slow_pairs;
      if (pair->state == State::hung) ++out.hung;
    }
  }
  out.known = out.pairs > 0 && (out.usual > 0 || gave_none);
  if (!out.known) return out;
  const auto [sends, receives] = best_round(check, results, node, figure);
  out.reached = std::min(sends, receives);
  out.slow = out.reached < slow_below;
  if (std::max(sends, receives) >= slow_below) {
    out.way = sends < receives ? Way::out : Way::in;
  } else if (figure == Figure::rate) {
    out.way = slow_alone(check, results, node, slow_below).value_or(Way::both);
  }
  return out;
}

Finding node_finding(std::size_t node, std::size_t shared, const Answer& answer, Figure figure) {
  Finding out{Kind::node, answer.way, {node}, {}, shared};
  out.reached = in_unit(answer.reached, figure);
  out.usual = in_unit(answer.usual, figure);
  out.slow = answer.slow_pairs;
  out.pairs = answer.pairs;
  out.hung = answer.hung;
  return out;
}

bool names_node(std::span<const Finding> findings, std::size_t node) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.kind == Kind::node && finding.nodes[0] == node;
  });
}

const Answer& about(const SecondLook::Answers& answers, Subject subject) {
  return answers[static_cast<std::size_t>(subject)];
}

// What is broken is slow each time: what a pair's nodes lacked in rounds of their own was chance
// where the pair itself is not slow.
bool is_cleared(const SecondLook::Answers& answers) {
  const Answer& itself = about(answers, Subject::itself);
  return itself.known && !itself.slow;
}

// The first pass may have seen both directions slow, because they share a connection: the number is
// of the direction that is named.
void turn(Finding& finding, Way way) {
  finding.way = way;
  const double alone = way == Way::out ? finding.reached_out : finding.reached_in;
  if (way != Way::both && alone > 0) finding.reached = alone;
}

// A pair's nodes come before the pair, because a slow node makes the pair slow. Where there was
// nothing to compare a node with, only the pair is known.
void judge(const Finding& finding, const SecondLook::Answers& answers, Figure figure, bool is_left,
           Confirmed& out) {
  if (is_cleared(answers)) {
    out.cleared.push_back(finding);
    return;
  }
  bool node_is_slow = false;
  for (const Subject subject : {Subject::first_node, Subject::second_node}) {
    const Answer& answer = about(answers, subject);
    if (!answer.known || !answer.slow || answer.usual == 0) continue;
    node_is_slow = true;
    const std::size_t node = finding.nodes[subject == Subject::first_node ? 0 : 1];
    if (!names_node(out.bad, node)) {
      out.bad.push_back(node_finding(node, finding.shared, answer, figure));
    }
  }
  if (node_is_slow) return;
  const Answer& itself = about(answers, Subject::itself);
  if (itself.slow && !finding.nodes.empty()) {
    if (finding.kind == Kind::node && names_node(out.bad, finding.nodes[0])) return;
    out.bad.push_back(finding);
    turn(out.bad.back(), itself.way);
    return;
  }
  (itself.known ? out.bad : is_left ? out.left : out.open).push_back(finding);
}

}  // namespace

SecondLook::SecondLook(const Cluster& cluster, const Verdict& verdict, const Thresholds& thresholds)
    : domains_(cluster),
      figure_(verdict.figure),
      thresholds_(thresholds),
      findings_(verdict.findings.size()) {
  for (const Finding& finding : verdict.findings) suspects_.push_back({finding, true});
  for (const Finding& pair : verdict.doubted) suspects_.push_back({pair, false});
  answers_.resize(suspects_.size());
  is_left_.resize(suspects_.size());
  std::vector<Question> all(suspects_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].suspect = i;
  plan_ = second_plan(domains_, suspects_, all);
}

void SecondLook::tell(std::span<const Measured> measured, std::size_t played) {
  Results results(plan_.rounds.size());
  for (const Measured& pair : measured) {
    if (pair.state == State::not_measured) continue;
    if (pair.round < results.size()) results[pair.round].push_back(&pair);
  }
  for (const Check& check : plan_.checks) {
    const auto& [suspect, subject] = check.question;
    if (!is_whole(check, played)) {
      is_left_[suspect] = true;
      continue;
    }
    answers_[suspect][static_cast<std::size_t>(subject)] =
        answer(check, results, suspects_[suspect].finding, figure_, thresholds_);
  }
  bool others_are_cleared = false;
  for (std::size_t i = 0; i < suspects_.size(); ++i) {
    const Answer& itself = about(answers_[i], Subject::itself);
    if (!itself.known) continue;
    if (suspects_[i].avoided && !itself.slow) others_are_cleared = true;
    suspects_[i].avoided = itself.slow;
  }
  ++passes_;
  plan_ = passes_ < most_passes ? second_plan(domains_, suspects_, unanswered(others_are_cleared))
                                : SecondPlan{};
}

std::vector<Question> SecondLook::unanswered(bool others_are_cleared) const {
  std::vector<Question> out;
  for (std::size_t i = 0; i < suspects_.size(); ++i) {
    if (is_cleared(answers_[i])) continue;
    for (const Subject subject : {Subject::itself, Subject::first_node, Subject::second_node}) {
      const bool of_a_node = subject != Subject::itself;
      if (of_a_node && suspects_[i].finding.kind != Kind::pair) continue;
      const bool is_new = of_a_node && passes_ == 1;
      if (!about(answers_[i], subject).known && (is_new || others_are_cleared)) {
        out.push_back({i, subject});
      }
    }
  }
  return out;
}

Confirmed SecondLook::found() const {
  Confirmed out;
  for (std::size_t i = 0; i < findings_; ++i) {
    judge(suspects_[i].finding, answers_[i], figure_, is_left_[i], out);
  }
  // Of doubts that were not confirmed there is nothing to say.
  Confirmed doubts{out.bad, {}, {}, {}, {}};
  for (std::size_t i = findings_; i < suspects_.size(); ++i) {
    Finding pair = suspects_[i].finding;
    const auto is_bad = [&](std::size_t node) { return names_node(doubts.bad, node); };
    if (std::ranges::any_of(pair.nodes, is_bad)) continue;
    const Answer& alone = about(answers_[i], Subject::itself);
    pair.reached = in_unit(alone.reached, figure_);
    pair.usual = in_unit(alone.usual, figure_);
    judge(pair, answers_[i], figure_, is_left_[i], doubts);
  }
  out.bad = std::move(doubts.bad);
  withdraw_majorities(out);
  return out;
}

void SecondLook::withdraw_majorities(Confirmed& found) const {
  const auto is_slow_pair = [](const Finding& finding) {
    return finding.kind == Kind::pair && finding.reached > 0;
  };
  std::map<std::size_t, std::size_t> slow;  // by the number of shared domains
  for (const Finding& finding : found.bad) {
    if (is_slow_pair(finding)) ++slow[finding.shared];
  }
  for (const auto& [shared, count] : slow) {
    if (domains_.has_pairs(shared, 2 * count)) continue;
    const auto rest = std::ranges::stable_partition(found.bad, [&](const Finding& finding) {
      return !is_slow_pair(finding) || finding.shared != shared;
    });
    found.most.insert(found.most.end(), rest.begin(), rest.end());
    found.bad.erase(rest.begin(), rest.end());
  }
}

}  // namespace toprun::pairs
