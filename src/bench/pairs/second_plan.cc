#include <algorithm>
#include <optional>

#include "bench/pairs/second_look.h"

namespace toprun::pairs {
namespace {

using Check = SecondPlan::Check;
using Nodes = std::vector<std::size_t>;

class Planner {
 public:
  Planner(const Domains& domains, std::span<const Suspect> suspects)
      : domains_(domains), all_(suspects), good_(domains.nodes(), 1), bad_(domains.nodes(), 0) {
    for (const auto& [finding, avoided] : suspects) {
      if (!avoided) continue;
      for (const std::size_t node : finding.nodes) {
        good_[node] = 0;
        if (finding.kind == Kind::node) bad_[node] = 1;
      }
      if (finding.kind == Kind::pair) {
        slow_pairs_.push_back(pair_of(finding.nodes[0], finding.nodes[1]));
      }
      if (finding.kind == Kind::uplink) uplinks_.push_back(finding.domains[0]);
      if (finding.kind == Kind::between) between_.push_back(finding.domains);
    }
  }

  SecondPlan run(std::span<const Question> questions) && {
    for (const Question& question : questions) {
      const Finding& finding = all_[question.suspect].finding;
      if (finding.kind == Kind::pair) {
        // Others may be compared with a pair that is only doubted, but not this one with itself.
        slow_pairs_.push_back(pair_of(finding.nodes[0], finding.nodes[1]));
        ask_of_pair(question, finding);
        slow_pairs_.pop_back();
      } else if (finding.kind == Kind::node) {
        ask_node(question, finding.nodes[0], finding.shared);
      } else {
        ask_domains(question, finding);
      }
    }
    return std::move(out_);
  }

 private:
  // The nodes that may be compared with. On busy hosts so many pairs can look slow that no node is
  // good.
  enum class Trust { good, in_slow_pairs_only };

  void ask_of_pair(const Question& question, const Finding& finding) {
    const std::size_t a = finding.nodes[0];
    const std::size_t b = finding.nodes[1];
    switch (question.subject) {
      case Subject::itself:
        return add_check(question, std::vector<Round>(repeats, {pair_of(a, b)}), finding.shared);
      case Subject::first_node:
        return ask_node(question, a, finding.shared);
      case Subject::second_node:
        return ask_node(question, b, finding.shared);
    }
  }

  void ask_node(const Question& question, std::size_t node, std::size_t level) {
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
    // The nodes of a pair are slow only if the pair is, each time.
    while (question.subject == Subject::itself && !rounds.empty() && rounds.size() < node_rounds) {
      rounds.push_back(rounds[rounds.size() - partners.size()]);
    }
    add_check(question, std::move(rounds), shared);
  }

  Nodes partners_of(std::size_t node, std::size_t shared, Trust trust) const {
    Nodes out;
    for (std::size_t i = 0; i < good_.size() && out.size() < node_rounds; ++i) {
      if (i == node || !usable(i, shared, trust) || domains_.shared(i, node) != shared) continue;
      const bool is_slow = std::ranges::find(slow_pairs_, pair_of(i, node)) != slow_pairs_.end();
      if (!is_slow && !between_suspects(i, node)) out.push_back(i);
    }
    return out;
  }

  // For pairs that share so many domains.
  bool usable(std::size_t node, std::size_t shared, Trust trust) const {
    const bool is_trusted = trust == Trust::good ? good_[node] != 0 : bad_[node] == 0;
    return is_trusted && !leaves_by_a_suspect(node, shared);
  }

  // Whether one of the uplinks between the node and those with which it shares so many domains is
  // suspected.
  bool leaves_by_a_suspect(std::size_t node, std::size_t shared) const {
    const auto inside = domains_.of(node);
    return std::any_of(inside.begin() + static_cast<std::ptrdiff_t>(shared), inside.end(),
                       [&](std::size_t domain) { return suspected(domains_[domain].path); });
  }

  bool is_in(std::size_t node, const DomainPath& path) const {
    return std::ranges::any_of(domains_.of(node),
                               [&](std::size_t domain) { return domains_[domain].path == path; });
  }

  bool between_suspects(std::size_t a, std::size_t b) const {
    return std::ranges::any_of(between_, [&](const std::vector<DomainPath>& ends) {
      return (is_in(a, ends[0]) && is_in(b, ends[1])) || (is_in(a, ends[1]) && is_in(b, ends[0]));
    });
  }

  // One end of what is suspected between two domains.
  bool is_an_end(const DomainPath& path) const {
    return std::ranges::any_of(between_, [&](const std::vector<DomainPath>& ends) {
      return path == ends[0] || path == ends[1];
    });
  }

  bool suspected(const DomainPath& path) const {
    return std::ranges::find(uplinks_, path) != uplinks_.end();
  }

  // Adds the rounds, and one good pair after another as their controls, in turns: what else keeps
  // the hosts busy for a while then slows both.
  void add_check(const Question& question, std::vector<Round> rounds, std::size_t shared) {
    Check check{question, {}, {}};
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
      if (!usable(a, shared, trust)) continue;
      const Nodes partners = partners_of(a, shared, trust);
      if (partners.empty()) continue;
      found = pair_of(a, partners.front());
      if (skipped-- == 0) break;
    }
    return found;
  }

  void ask_domains(const Question& question, const Finding& finding) {
    const Nodes inside = nodes_of(finding.domains[0]);
    const Nodes outside = finding.kind == Kind::uplink ? others(finding.domains[0], finding.shared)
                                                       : nodes_of(finding.domains[1]);
    const Round suspect = side_by_side(inside, outside);
    const Round control = healthy_round(finding, suspect.size());
    if (suspect.empty()) return;
    Check check{question, {}, {}};
    for (std::size_t i = 0; i < repeats; ++i) {
      if (!control.empty()) add(check.control, control);
      add(check.suspect, suspect);
    }
    out_.checks.push_back(std::move(check));
  }

  // The nodes of a domain that are not said to be slow.
  Nodes nodes_of(const DomainPath& path) const {
    Nodes out = all_nodes_of(path);
    std::erase_if(out, [&](std::size_t node) { return bad_[node] != 0; });
    return out;
  }

  // Those that nothing at all is said of, on their way to nodes with which they share so many
  // domains.
  Nodes usable_nodes_of(const DomainPath& path, std::size_t shared) const {
    Nodes out = all_nodes_of(path);
    std::erase_if(out, [&](std::size_t node) { return !usable(node, shared, Trust::good); });
    return out;
  }

  Nodes all_nodes_of(const DomainPath& path) const {
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (domains_[i].path == path) return domains_[i].nodes;
    }
    return {};
  }

  // Usable nodes of the domain's neighbours, one of each in turn, so that all are loaded alike.
  Nodes others(const DomainPath& path, std::size_t shared) const {
    std::vector<Nodes> neighbours;
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      const DomainPath& other = domains_[i].path;
      const bool beside =
          other.size() == path.size() && other != path &&
          std::equal(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(shared),
                     path.begin());
      if (beside) neighbours.push_back(usable_nodes_of(other, shared));
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
      const DomainPath& path = domains_[i].path;
      if (path.size() != finding.domains[0].size() || suspected(path) || is_an_end(path)) {
        continue;
      }
      Round round =
          side_by_side(usable_nodes_of(path, finding.shared), others(path, finding.shared));
      if (round.size() < pairs) continue;
      round.resize(pairs);
      return round;
    }
    return {};
  }

  const Domains& domains_;
  std::span<const Suspect> all_;
  std::vector<char> good_;  // nodes of no finding
  std::vector<char> bad_;   // nodes that are a finding
  Round slow_pairs_;
  std::vector<DomainPath> uplinks_;               // of these domains
  std::vector<std::vector<DomainPath>> between_;  // two domains each
  SecondPlan out_;
};

}  // namespace

SecondPlan second_plan(const Domains& domains, std::span<const Suspect> suspects,
                       std::span<const Question> questions) {
  return Planner(domains, suspects).run(questions);
}

}  // namespace toprun::pairs
