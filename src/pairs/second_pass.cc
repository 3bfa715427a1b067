#include "pairs/second_pass.h"

#include <algorithm>
#include <array>
#include <optional>

#include "bench/statistics.h"
#include "pairs/domains.h"
#include "pairs/tally.h"

namespace toprun::pairs {
namespace {

using Check = SecondPass::Check;
using Subject = SecondPass::Subject;
using Nodes = std::vector<std::size_t>;

class Planner {
 public:
  Planner(const Cluster& cluster, const Verdict& verdict)
      : domains_(cluster), good_(cluster.names.size(), 1), bad_(cluster.names.size(), 0) {
    for (const Finding& finding : verdict.findings) {
      for (const std::size_t node : finding.nodes) {
        good_[node] = 0;
        if (finding.kind == Kind::node) bad_[node] = 1;
      }
      if (finding.kind == Kind::pair) {
        suspect_pairs_.push_back(pair_of(finding.nodes[0], finding.nodes[1]));
      }
      if (finding.kind == Kind::uplink) suspects_.push_back(finding.domains[0]);
      if (finding.kind == Kind::between) between_.push_back(finding.domains);
    }
  }

  SecondPass run(const Verdict& verdict) && {
    const std::size_t found = verdict.findings.size();
    for (std::size_t i = 0; i < found; ++i) check_finding(i, verdict.findings[i]);
    for (std::size_t i = 0; i < verdict.doubted.size(); ++i) {
      const Finding& pair = verdict.doubted[i];
      // Other doubted pairs may be compared with: one is slow only if each measurement of it is.
      suspect_pairs_.push_back(pair_of(pair.nodes[0], pair.nodes[1]));
      check_finding(found + i, pair);
      suspect_pairs_.pop_back();
    }
    return std::move(out_);
  }

 private:
  // Who may be compared with. On busy hosts so many pairs can look slow that no node is good.
  enum class Trust { good, in_slow_pairs_only };

  void check_finding(std::size_t i, const Finding& finding) {
    switch (finding.kind) {
      case Kind::node:
        return check_node(i, finding.nodes[0], finding.shared, Subject::itself);
      case Kind::pair:
        check({i, Subject::itself, {}, {}},
              std::vector<Round>(pair_repeats, {pair_of(finding.nodes[0], finding.nodes[1])}),
              finding.shared);
        check_node(i, finding.nodes[0], finding.shared, Subject::first_node);
        return check_node(i, finding.nodes[1], finding.shared, Subject::second_node);
      case Kind::uplink:
      case Kind::between:
        return check_domains(i, finding);
    }
  }

  void check_node(std::size_t finding, std::size_t node, std::size_t level, Subject subject) {
    Nodes partners;
    std::size_t shared = level;
    for (const Trust trust : {Trust::good, Trust::in_slow_pairs_only}) {
      if (!partners.empty()) break;
      shared = level;
      partners = partners_of(node, shared, trust);
      // In a leaf without another good node, those outside have to do, unless the way to them is
      // suspected itself.
      while (partners.empty() && shared > 0 && !leaves_by_a_suspect(node, shared - 1)) {
        partners = partners_of(node, --shared, trust);
      }
    }
    std::vector<Round> rounds;
    for (const std::size_t partner : partners) rounds.push_back({pair_of(node, partner)});
    while (subject == Subject::itself && !rounds.empty() && rounds.size() < node_rounds) {
      rounds.push_back(rounds[rounds.size() - partners.size()]);
    }
    check({finding, subject, {}, {}}, std::move(rounds), shared);
  }

  Nodes partners_of(std::size_t node, std::size_t shared, Trust trust) const {
    Nodes out;
    for (std::size_t i = 0; i < good_.size() && out.size() < node_rounds; ++i) {
      if (i == node || !usable(i, trust) || domains_.shared(i, node) != shared) continue;
      const bool is_suspected =
          std::ranges::find(suspect_pairs_, pair_of(i, node)) != suspect_pairs_.end();
      if (!is_suspected && !between_suspects(i, node)) out.push_back(i);
    }
    return out;
  }

  // Behind no suspected uplink.
  bool usable(std::size_t node, Trust trust) const {
    const bool is_trusted = trust == Trust::good ? good_[node] != 0 : bad_[node] == 0;
    return is_trusted && std::ranges::none_of(domains_.of(node), [&](std::size_t domain) {
             return suspected(domains_[domain].path);
           });
  }

  // Whether one of the uplinks between the node and those with which it shares so many domains is
  // suspected.
  bool leaves_by_a_suspect(std::size_t node, std::size_t shared) const {
    const auto inside = domains_.of(node);
    return std::any_of(inside.begin() + static_cast<std::ptrdiff_t>(shared), inside.end(),
                       [&](std::size_t domain) { return suspected(domains_[domain].path); });
  }

  bool is_in(std::size_t node, const Place& path) const {
    return std::ranges::any_of(domains_.of(node),
                               [&](std::size_t domain) { return domains_[domain].path == path; });
  }

  bool between_suspects(std::size_t a, std::size_t b) const {
    return std::ranges::any_of(between_, [&](const std::vector<Place>& ends) {
      return (is_in(a, ends[0]) && is_in(b, ends[1])) || (is_in(a, ends[1]) && is_in(b, ends[0]));
    });
  }

  // One end of what is suspected between two domains.
  bool is_an_end(const Place& path) const {
    return std::ranges::any_of(between_, [&](const std::vector<Place>& ends) {
      return path == ends[0] || path == ends[1];
    });
  }

  bool suspected(const Place& path) const {
    return std::ranges::find(suspects_, path) != suspects_.end();
  }

  // Adds the rounds, and one good pair after another as their controls, in turns: what else keeps
  // the hosts busy for a while then slows both.
  void check(Check check, std::vector<Round> rounds, std::size_t shared) {
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (const auto good = good_pair(shared, i)) add(check.control, {*good});
      add(check.suspect, std::move(rounds[i]));
    }
    if (!rounds.empty()) out_.checks.push_back(std::move(check));
  }

  void add(Nodes& indexes, Round round) {
    indexes.push_back(out_.rounds.size());
    out_.rounds.push_back(std::move(round));
  }

  // Of those that a search from each node on finds, the one after `skipped`; the last, if there are
  // fewer.
  std::optional<Pair> good_pair(std::size_t shared, std::size_t skipped) const {
    const auto found = good_pair(shared, skipped, Trust::good);
    return found ? found : good_pair(shared, skipped, Trust::in_slow_pairs_only);
  }

  std::optional<Pair> good_pair(std::size_t shared, std::size_t skipped, Trust trust) const {
    std::optional<Pair> found;
    for (std::size_t a = 0; a < good_.size(); ++a) {
      if (!usable(a, trust)) continue;
      const Nodes partners = partners_of(a, shared, trust);
      if (partners.empty()) continue;
      found = pair_of(a, partners.front());
      if (skipped-- == 0) break;
    }
    return found;
  }

  void check_domains(std::size_t index, const Finding& finding) {
    const auto inside = nodes_of(finding.domains[0], false);
    const bool uplink = finding.kind == Kind::uplink;
    const auto outside =
        uplink ? others(finding.domains[0], finding.shared) : nodes_of(finding.domains[1], false);
    const Round suspect = side_by_side(inside, outside);
    const Round control = healthy_round(finding, suspect.size());
    if (suspect.empty()) return;
    Check check{index, Subject::itself, {}, {}};
    add(check.suspect, suspect);
    if (!control.empty()) add(check.control, control);
    out_.checks.push_back(std::move(check));
  }

  // The nodes of a domain that are not said to be slow, or those that nothing at all is said of.
  Nodes nodes_of(const Place& path, bool unsuspected) const {
    Nodes out;
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (domains_[i].path != path) continue;
      for (const std::size_t node : domains_[i].nodes) {
        if (unsuspected ? usable(node, Trust::good) : bad_[node] == 0) out.push_back(node);
      }
    }
    return out;
  }

  // Usable nodes of the domain's neighbours, one of each in turn, so that all are loaded alike.
  Nodes others(const Place& path, std::size_t shared) const {
    std::vector<Nodes> neighbours;
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      const Place& other = domains_[i].path;
      const bool beside =
          other.size() == path.size() && other != path &&
          std::equal(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(shared),
                     path.begin());
      if (beside) neighbours.push_back(nodes_of(other, true));
    }
    Nodes out;
    for (std::size_t i = 0, added = 1; added > 0; ++i) {
      added = 0;
      for (const Nodes& nodes : neighbours) {
        if (i >= nodes.size()) continue;
        out.push_back(nodes[i]);
        ++added;
      }
    }
    return out;
  }

  static Round side_by_side(const Nodes& one, const Nodes& other) {
    Round out;
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
      out.push_back(pair_of(one[i], other[i]));
    }
    return out;
  }

  // The same with a domain that nothing is said about; it must have as many nodes to be as busy.
  Round healthy_round(const Finding& finding, std::size_t pairs) const {
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      const Place& path = domains_[i].path;
      if (path.size() != finding.domains[0].size() || suspected(path) || is_an_end(path)) {
        continue;
      }
      Round round = side_by_side(nodes_of(path, true), others(path, finding.shared));
      if (round.size() < pairs) continue;
      round.resize(pairs);
      return round;
    }
    return {};
  }

  Domains domains_;
  std::vector<char> good_;  // nodes of no finding
  std::vector<char> bad_;   // nodes that are a finding
  Round suspect_pairs_;
  std::vector<Place> suspects_;              // whose uplinks are a finding
  std::vector<std::vector<Place>> between_;  // two domains each
  SecondPass out_;
};

// What a check's rounds say.
struct Answer {
  bool known = false;
  bool slow = false;
  Way way = Way::both;
  double reached = 0;  // paces
  double usual = 0;
  Count pairs;
  std::size_t hung = 0;
};

using Results = std::vector<std::vector<const Measured*>>;  // by round

std::vector<const Measured*> results_of(const Results& results, const Nodes& rounds) {
  std::vector<const Measured*> out;
  for (const std::size_t round : rounds) {
    out.insert(out.end(), results[round].begin(), results[round].end());
  }
  return out;
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

// The pace of the controls. Without any, what was usual in the first pass has to do, where that was
// measured between the same nodes: with more load, so that who does not reach it alone is slow.
double usual_pace(const Check& check, const Results& results, const Finding& finding,
                  Figure figure) {
  std::vector<double> usual;
  for (const Measured* pair : results_of(results, check.control)) {
    for (std::size_t d = 0; d < directions; ++d) usual.push_back(pace(*pair, d, figure));
  }
  if (!usual.empty()) return bench::median(std::move(usual));
  const bool same_nodes = check.subject == Subject::itself && finding.kind != Kind::node;
  return same_nodes ? in_unit(finding.usual, figure) : 0;
}

// Of a domain's pairs the slower direction counts: which one it is, the first pass has said.
Answer answer(const Check& check, const Results& results, const Finding& finding, Figure figure,
              const Thresholds& thresholds) {
  Answer out;
  out.usual = usual_pace(check, results, finding, figure);
  const double slow_below = out.usual * (1 - thresholds.least_shortfall);
  const std::optional<std::size_t> node = seen_from(finding, check.subject);
  std::vector<double> there;
  std::vector<double> back;
  for (const Measured* pair : results_of(results, check.suspect)) {
    double from_a = pace(*pair, 0, figure);
    double to_a = pace(*pair, 1, figure);
    if (!node) from_a = to_a = std::min(from_a, to_a);
    there.push_back(node == pair->b ? to_a : from_a);
    back.push_back(node == pair->b ? from_a : to_a);
    ++out.pairs.all;
    if (std::min(from_a, to_a) < slow_below) ++out.pairs.slow;
    if (pair->state == State::hung) ++out.hung;
  }
  out.known = !there.empty() && out.usual > 0;
  if (!out.known) return out;
  // What is broken is slow each time; the pairs of a domain share its uplink, some of them
  // unevenly.
  const auto typical = [&](std::vector<double> paces) {
    return node ? std::ranges::max(paces) : bench::median(std::move(paces));
  };
  const double sends = typical(std::move(there));
  const double receives = typical(std::move(back));
  out.reached = std::min(sends, receives);
  out.slow = out.reached < slow_below;
  if (std::max(sends, receives) >= slow_below) {
    out.way = sends < receives ? Way::out : Way::in;
  }
  return out;
}

Finding node_finding(std::size_t node, std::size_t shared, const Answer& answer, Figure figure) {
  Finding out{Kind::node, answer.way, {node}, {}, shared};
  out.reached = in_unit(answer.reached, figure);
  out.usual = in_unit(answer.usual, figure);
  out.slow = answer.pairs.slow;
  out.pairs = answer.pairs.all;
  out.hung = answer.hung;
  return out;
}

bool names_node(std::span<const Finding> findings, std::size_t node) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.kind == Kind::node && finding.nodes[0] == node;
  });
}

std::vector<Finding> all_suspects(const Verdict& verdict) {
  std::vector<Finding> all = verdict.findings;
  all.insert(all.end(), verdict.doubted.begin(), verdict.doubted.end());
  return all;
}

// The answers about one finding, by subject.
using Answers = std::array<Answer, 3>;

const Answer& about(const Answers& answers, Subject subject) {
  return answers[static_cast<std::size_t>(subject)];
}

// A pair's nodes come before the pair, because a slow node makes the pair slow. It does so each
// time: what its nodes lacked in a round of their own was chance where the pair itself is not slow.
void settle(const Finding& finding, const Answers& answers, Figure figure, Confirmed& out) {
  const Answer& itself = about(answers, Subject::itself);
  if (finding.kind == Kind::pair && itself.known && !itself.slow) {
    out.cleared.push_back(finding);
    return;
  }
  bool node_is_slow = false;
  for (const Subject subject : {Subject::first_node, Subject::second_node}) {
    const Answer& answer = about(answers, subject);
    if (!answer.known || !answer.slow) continue;
    node_is_slow = true;
    const std::size_t node = finding.nodes[subject == Subject::first_node ? 0 : 1];
    if (!names_node(out.bad, node)) {
      out.bad.push_back(node_finding(node, finding.shared, answer, figure));
    }
  }
  if (node_is_slow) return;
  if (itself.slow && !finding.nodes.empty()) {
    if (finding.kind == Kind::node && names_node(out.bad, finding.nodes[0])) return;
    out.bad.push_back(finding);
    out.bad.back().way = itself.way;
    return;
  }
  (!itself.known ? out.open : itself.slow ? out.bad : out.cleared).push_back(finding);
}

}  // namespace

SecondPass second_pass(const Cluster& cluster, const Verdict& verdict) {
  return Planner(cluster, verdict).run(verdict);
}

Confirmed confirm(const Verdict& verdict, const SecondPass& pass,
                  std::span<const Measured> measured, const Thresholds& thresholds) {
  Results results(pass.rounds.size());
  for (const Measured& pair : measured) {
    if (pair.round < results.size()) results[pair.round].push_back(&pair);
  }
  const std::vector<Finding> suspects = all_suspects(verdict);
  std::vector<Answers> answers(suspects.size());
  for (const Check& check : pass.checks) {
    answers[check.finding][static_cast<std::size_t>(check.subject)] =
        answer(check, results, suspects[check.finding], verdict.figure, thresholds);
  }
  Confirmed out;
  for (std::size_t i = 0; i < verdict.findings.size(); ++i) {
    settle(suspects[i], answers[i], verdict.figure, out);
  }
  // Of doubts that were not confirmed there is nothing to say.
  Confirmed doubts{out.bad, {}, {}};
  for (std::size_t i = verdict.findings.size(); i < suspects.size(); ++i) {
    Finding pair = suspects[i];
    const auto is_bad = [&](std::size_t node) { return names_node(doubts.bad, node); };
    if (std::ranges::any_of(pair.nodes, is_bad)) continue;
    const Answer& alone = about(answers[i], Subject::itself);
    pair.reached = in_unit(alone.reached, verdict.figure);
    pair.usual = in_unit(alone.usual, verdict.figure);
    settle(pair, answers[i], verdict.figure, doubts);
  }
  out.bad = std::move(doubts.bad);
  return out;
}

}  // namespace toprun::pairs
