#include "bench/pairs/pair_verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "base/text/sets.h"
#include "bench/pairs/tally.h"
#include "bench/tables/statistics.h"

namespace toprun::pairs {
namespace {

// Of a node or of two domains; with fewer, one slow pair would be "most".
constexpr std::size_t fewest_pairs = 2;
// However large the noise, pairs that are slower are slow: the second pass clears those that were
// so by chance.
constexpr double most_shortfall = 0.5;
// Of those that gave no result and had nothing to be compared with: each is tried again.
constexpr std::size_t most_without_result = 16;

double slow_below(const Thresholds& thresholds, double noise) {
  return 1 - std::clamp(noise, thresholds.least_shortfall,
                        std::max(most_shortfall, thresholds.least_shortfall));
}

// Which directions are slow, if any.
std::optional<Way> way_of(bool out, bool in) {
  if (out && in) return Way::both;
  if (out) return Way::out;
  if (in) return Way::in;
  return std::nullopt;
}

class Judge {
 public:
  Judge(const Cluster& cluster, std::span<const Measured> measured, Figure figure,
        const Thresholds& thresholds)
      : measured_(measured),
        figure_(figure),
        thresholds_(thresholds),
        domains_(cluster),
        ratios_(ratios(domains_, measured, figure)),
        tally_(cluster.names.size(), measured, ratios_,
               slow_below(thresholds, thresholds.deviations * ratios_.noise)) {}

  Verdict run() && {
    Verdict out;
    out.figure = figure_;
    out.noise = ratios_.noise;
    for (std::size_t node = 0; node < tally_.nodes(); ++node) {
      if (tally_.of_all_levels(node, Way::out).all == 0) out.not_compared.push_back(node);
    }
    for (std::size_t shared = tally_.levels(); shared-- > 0;) {
      while (find_uplink(shared)) {
      }
      while (find_node(shared)) {
      }
      find_between(shared);
      find_pairs(shared);
    }
    find_without_result();
    out.doubted = doubted();
    out.findings = std::move(findings_);
    std::ranges::stable_sort(out.findings, [](const Finding& a, const Finding& b) {
      return std::tuple(a.kind, b.slow) < std::tuple(b.kind, a.slow);
    });
    return out;
  }

 private:
  using Takes = std::function<bool(std::size_t figure)>;

  bool most(const Count& count) const {
    return count.all >= fewest_pairs && count.share() >= thresholds_.most;
  }

  // A node with a single pair in its leaf is judged by its pairs across too; where those of both
  // are slow, their uplink is the simpler cause, which is judged further out.
  bool node_is_slow(std::size_t node, Way way, std::size_t shared) const {
    const Count& here = tally_.of(node, way, shared);
    if (most(here)) return true;
    if (here.all != 1 || here.slow != 1) return false;
    const Count sum = tally_.of_all_levels(node, way);
    if (sum.all <= fewest_pairs || !most(sum)) return false;
    const auto partner = only_partner(node, shared);
    return !partner || !most(across(*partner, way, shared));
  }

  Count across(std::size_t node, Way way, std::size_t shared) const {
    const Count& here = tally_.of(node, way, shared);
    Count sum = tally_.of_all_levels(node, way);
    sum.all -= here.all;
    sum.slow -= here.slow;
    return sum;
  }

  std::optional<std::size_t> only_partner(std::size_t node, std::size_t shared) const {
    for (const std::size_t i : tally_.pairs_of(node)) {
      if (ratios_.shared[i] != shared) continue;
      return measured_[i].a == node ? measured_[i].b : measured_[i].a;
    }
    return std::nullopt;
  }

  // The worst node first, because its pairs count against its partners until it is found.
  bool find_node(std::size_t shared) {
    using Badness = std::tuple<double, std::size_t>;
    std::optional<std::pair<Badness, std::size_t>> worst;
    for (std::size_t node = 0; node < tally_.nodes(); ++node) {
      for (const Way way : {Way::out, Way::in}) {
        if (!node_is_slow(node, way, shared)) continue;
        const Badness badness = {
            tally_.of(node, way, shared).share(),
            tally_.of_all_levels(node, Way::out).slow + tally_.of_all_levels(node, Way::in).slow};
        if (!worst || worst->first < badness) worst = {badness, node};
      }
    }
    if (!worst) return false;
    const std::size_t node = worst->second;
    const bool out = node_is_slow(node, Way::out, shared);
    const bool in = node_is_slow(node, Way::in, shared);
    const bool alone = tally_.of(node, out ? Way::out : Way::in, shared).all < fewest_pairs;
    const Takes takes = [&](std::size_t figure) {
      return out ? in || tally_.sender(figure) == node : tally_.receiver(figure) == node;
    };
    Finding finding{Kind::node, *way_of(out, in), {node}, {}, shared};
    const std::vector<std::size_t>& pairs = tally_.pairs_of(node);
    describe(finding, pairs, [&](std::size_t figure) {
      return takes(figure) && (alone || ratios_.shared[figure / directions] == shared);
    });
    explain(pairs, takes);
    findings_.push_back(std::move(finding));
    return true;
  }

  // A domain's figures across its edge.
  struct Edge {
    Count out, in;
    std::vector<std::size_t> others;  // domains, sorted
  };

  bool find_uplink(std::size_t shared) {
    std::map<std::size_t, Edge> edges;
    for_figures_between(shared, [&](std::size_t figure, std::size_t from, std::size_t to) {
      add(edges[from].out, figure);
      add(edges[to].in, figure);
      add_once(edges[from].others, to);
      add_once(edges[to].others, from);
    });
    std::optional<std::pair<double, std::size_t>> worst;
    for (const auto& [domain, edge] : edges) {
      if (edge.others.size() < 2) continue;
      const double out = uplink_is_slow(domain, edge, Way::out, shared) ? edge.out.share() : 0;
      const double in = uplink_is_slow(domain, edge, Way::in, shared) ? edge.in.share() : 0;
      if (out + in > 0 && (!worst || worst->first < out + in)) worst = {out + in, domain};
    }
    if (!worst) return false;
    const std::size_t domain = worst->second;
    const bool out = uplink_is_slow(domain, edges[domain], Way::out, shared);
    const bool in = uplink_is_slow(domain, edges[domain], Way::in, shared);
    Finding finding{Kind::uplink, *way_of(out, in), {}, {domains_[domain].path}, shared};
    const Takes takes = [&](std::size_t figure) {
      return (out && is_in(tally_.sender(figure), domain) &&
              !is_in(tally_.receiver(figure), domain)) ||
             (in && is_in(tally_.receiver(figure), domain) &&
              !is_in(tally_.sender(figure), domain));
    };
    finish(std::move(finding), pairs_of(domain), takes);
    return true;
  }

  bool uplink_is_slow(std::size_t domain, const Edge& edge, Way way, std::size_t shared) const {
    const std::vector<std::size_t>& nodes = domains_[domain].nodes;
    if (nodes.size() < 2 || !most(way == Way::out ? edge.out : edge.in)) return false;
    Count slow_nodes;
    for (const std::size_t node : nodes) {
      const Count& count = tally_.of(node, way, shared);
      if (count.all == 0) continue;
      ++slow_nodes.all;
      slow_nodes.slow += count.share() >= thresholds_.most ? 1 : 0;
    }
    return most(slow_nodes);
  }

  // Two domains, some of whose nodes are slow with the other's only.
  void find_between(std::size_t shared) {
    struct Both {
      Count there, back;
      std::vector<std::size_t> pairs;
    };
    std::map<std::pair<std::size_t, std::size_t>, Both> all;
    for_figures_between(shared, [&](std::size_t figure, std::size_t from, std::size_t to) {
      Both& both = all[std::minmax(from, to)];
      add(from < to ? both.there : both.back, figure);
      if (both.pairs.empty() || both.pairs.back() != figure / directions) {
        both.pairs.push_back(figure / directions);
      }
    });
    for (auto& [ends, both] : all) {
      const auto [one, other] = ends;
      if (domains_[one].nodes.size() < 2 || domains_[other].nodes.size() < 2) continue;
      const std::optional<Way> way = way_of(most(both.there), most(both.back));
      if (!way) continue;
      Finding finding{Kind::between, *way, {}, {domains_[one].path, domains_[other].path}, shared};
      finish(std::move(finding), both.pairs, [&, from = one](std::size_t figure) {
        return *way == Way::both || is_in(tally_.sender(figure), from) == (*way == Way::out);
      });
    }
  }

  void find_pairs(std::size_t shared) {
    const double figures = static_cast<double>(std::max<std::size_t>(ratios_.all.size(), 2));
    const double far = std::sqrt(2 * std::log(figures)) + thresholds_.deviations_beyond_worst;
    const double one_below = slow_below(thresholds_, far * ratios_.noise);
    const double mean_below = slow_below(thresholds_, far * ratios_.noise / std::sqrt(2.0));
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      if (ratios_.shared[i] != shared) continue;
      const auto mean = open_mean(i);
      const bool both_are_slow = mean && *mean < mean_below;
      const auto way = slow_way(i, both_are_slow ? 1 - thresholds_.least_shortfall : one_below);
      if (way) findings_.push_back(found_pair(i, *way));
    }
  }

  // That a pair gave no result needs no comparison; which of its nodes is to blame does.
  void find_without_result() {
    std::size_t found = 0;
    for (std::size_t i = 0; i < measured_.size() && found < most_without_result; ++i) {
      const Measured& pair = measured_[i];
      const bool compared = ratios_.all[i * directions].value >= 0;
      if (pair.state == State::measured || compared) continue;
      if (is_named(pair.a) || is_named(pair.b)) continue;
      Finding finding{Kind::pair, Way::both, {pair.a, pair.b}, {}, ratios_.shared[i]};
      finding.slow = finding.pairs = 1;
      (pair.state == State::hung ? finding.hung : finding.failed) = 1;
      findings_.push_back(std::move(finding));
      ++found;
    }
  }

  std::vector<Finding> doubted() {
    std::vector<std::pair<double, std::size_t>> slowest;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      const auto mean = open_mean(i);
      if (!mean) continue;
      const bool is_doubted =
          *mean < 1 - thresholds_.doubted_shortfall || slow_way(i, 1 - thresholds_.least_shortfall);
      if (!is_doubted || is_found(measured_[i].a) || is_found(measured_[i].b)) continue;
      slowest.emplace_back(*mean, i);
    }
    std::ranges::sort(slowest);
    if (slowest.size() > most_doubted_pairs) slowest.resize(most_doubted_pairs);
    std::vector<Finding> out;
    for (const auto& [mean, i] : slowest) {
      out.push_back(
          found_pair(i, slow_way(i, 1 - thresholds_.least_shortfall).value_or(Way::both)));
    }
    return out;
  }

  // Alone or in a pair: the second pass looks at such nodes themselves.
  bool is_found(std::size_t node) const {
    return std::ranges::any_of(findings_, [&](const Finding& finding) {
      return std::ranges::find(finding.nodes, node) != finding.nodes.end();
    });
  }

  bool is_named(std::size_t node) const {
    return std::ranges::any_of(findings_, [&](const Finding& finding) {
      return finding.kind == Kind::node && finding.nodes[0] == node;
    });
  }

  // Of a pair's directions, where nothing explains either.
  std::optional<double> open_mean(std::size_t pair) const {
    const std::size_t there = pair * directions;
    if (!tally_.open(there) || !tally_.open(there + 1)) return std::nullopt;
    return (ratios_.all[there].value + ratios_.all[there + 1].value) / 2;
  }

  std::optional<Way> slow_way(std::size_t pair, double below) const {
    const auto slow = [&](std::size_t figure) {
      return tally_.open(figure) && ratios_.all[figure].value < below;
    };
    return way_of(slow(pair * directions), slow(pair * directions + 1));
  }

  Finding found_pair(std::size_t pair, Way way) {
    Finding finding{
        Kind::pair, way, {measured_[pair].a, measured_[pair].b}, {}, ratios_.shared[pair]};
    const std::size_t only[] = {pair};
    const Takes takes = [&](std::size_t figure) {
      return way == Way::both || (figure == pair * directions) == (way == Way::out);
    };
    describe(finding, only, takes);
    explain(only, takes);
    return finding;
  }

  // Figures that nothing explains, between domains that both lie in the same one.
  template <class Visit>
  void for_figures_between(std::size_t shared, Visit visit) const {
    for (std::size_t figure = 0; figure < ratios_.all.size(); ++figure) {
      if (ratios_.shared[figure / directions] != shared || !tally_.open(figure)) continue;
      const auto from = domains_.of(tally_.sender(figure));
      const auto to = domains_.of(tally_.receiver(figure));
      if (from.size() > shared && to.size() > shared) visit(figure, from[shared], to[shared]);
    }
  }

  void add(Count& count, std::size_t figure) const {
    ++count.all;
    count.slow += tally_.slow(figure) ? 1 : 0;
  }

  static void add_once(std::vector<std::size_t>& sorted, std::size_t value) {
    const auto at = std::ranges::lower_bound(sorted, value);
    if (at == sorted.end() || *at != value) sorted.insert(at, value);
  }

  bool is_in(std::size_t node, std::size_t domain) const {
    return std::ranges::find(domains_.of(node), domain) != domains_.of(node).end();
  }

  std::vector<std::size_t> pairs_of(std::size_t domain) const {
    std::vector<std::size_t> out;
    for (const std::size_t node : domains_[domain].nodes) {
      const auto& pairs = tally_.pairs_of(node);
      out.insert(out.end(), pairs.begin(), pairs.end());
    }
    sort_distinct(out);
    return out;
  }

  void finish(Finding finding, std::span<const std::size_t> pairs, const Takes& takes) {
    describe(finding, pairs, [&](std::size_t figure) {
      return takes(figure) && ratios_.shared[figure / directions] == finding.shared;
    });
    explain(pairs, takes);
    findings_.push_back(std::move(finding));
  }

  // Both directions of a pair with one taken: they share a connection, so what comes back
  // waits in the queue of what is slow.
  void explain(std::span<const std::size_t> pairs, const Takes& takes) {
    for (const std::size_t i : pairs) {
      const std::size_t there = i * directions;
      if (!takes(there) && !takes(there + 1)) continue;
      tally_.explain(there);
      tally_.explain(there + 1);
    }
  }

  void describe(Finding& finding, std::span<const std::size_t> pairs, const Takes& takes) const {
    std::vector<double> reached;
    std::vector<double> out;  // of `reached`, what the finding's first node sends
    std::vector<double> in;
    std::vector<double> usual;
    for (const std::size_t i : pairs) {
      bool compared = false;
      bool slow = false;
      for (std::size_t figure = i * directions; figure < (i + 1) * directions; ++figure) {
        if (!tally_.open(figure) || !takes(figure)) continue;
        compared = true;
        if (finding.kind != Kind::pair && !tally_.slow(figure)) continue;
        slow = true;
        const Ratio& ratio = ratios_.all[figure];
        usual.push_back(ratio.expected);
        if (ratio.value <= 0) continue;
        reached.push_back(ratio.value * ratio.expected);
        if (finding.nodes.empty()) continue;
        const bool is_sent = tally_.sender(figure) == finding.nodes[0];
        (is_sent ? out : in).push_back(reached.back());
      }
      finding.pairs += compared ? 1 : 0;
      finding.slow += slow ? 1 : 0;
      finding.hung += slow && measured_[i].state == State::hung ? 1 : 0;
      finding.failed += slow && measured_[i].state == State::failed ? 1 : 0;
    }
    const auto median = [&](std::vector<double>& paces) {
      return paces.empty() ? 0 : in_unit(bench::median(std::move(paces)));
    };
    finding.reached = median(reached);
    finding.reached_out = median(out);
    finding.reached_in = median(in);
    finding.usual = in_unit(bench::median(std::move(usual)));
  }

  double in_unit(double pace) const { return figure_ == Figure::latency ? 1 / pace : pace; }

  std::span<const Measured> measured_;
  Figure figure_;
  Thresholds thresholds_;
  Domains domains_;
  Ratios ratios_;
  Tally tally_;
  std::vector<Finding> findings_;
};

bool is_figure(const Measured& measured, Figure figure) {
  if (measured.state != State::measured) return true;
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (figure == Figure::latency) return positive(measured.latency_us);
  return positive(measured.gbps_ab) && positive(measured.gbps_ba);
}

}  // namespace

Result<Verdict> judge(const Cluster& cluster, std::span<const Measured> measured, Figure figure,
                      const Thresholds& thresholds) {
  const std::size_t nodes = cluster.names.size();
  if (!cluster.places.empty() && cluster.places.size() != nodes) {
    return fail(fmt::format("only {} of {} nodes have places", cluster.places.size(), nodes));
  }
  for (const Measured& pair : measured) {
    if (pair.a >= nodes || pair.b >= nodes || pair.a == pair.b) {
      return fail(fmt::format("nodes {} and {} of {} are not a pair", pair.a, pair.b, nodes));
    }
    if (!is_figure(pair, figure)) {
      return fail(fmt::format("the pair {} – {} has no {}", cluster.names[pair.a],
                              cluster.names[pair.b], figure == Figure::rate ? "rates" : "latency"),
                  "the value must be a positive number");
    }
  }
  std::vector<Measured> evidence(measured.begin(), measured.end());
  std::erase_if(evidence, [](const Measured& one) { return one.state == State::not_measured; });
  return Judge(cluster, evidence, figure, thresholds).run();
}

}  // namespace toprun::pairs
