#include "bench/pairs/tally.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "bench/tables/statistics.h"

namespace toprun::pairs {
namespace {

constexpr double best_quarter = 0.75;
// Around the first guess of the usual pace, which is a little high.
constexpr double healthy_least = 0.8;
constexpr double healthy_most = 1.25;
// Fewer figures have no usual pace.
constexpr std::size_t fewest_comparable = 6;
// A round corrects its figures only if it has so many of a class, from nearly all nodes of the
// class: in a smaller one a fault is taken for the round's pace.
constexpr std::size_t fewest_in_round = 16;
constexpr double round_share_of_nodes = 0.75;

// How much larger the noise may be than so few figures show: this share of it over √figures.
constexpr double noise_doubt = 3;

using Indexes = std::vector<std::size_t>;  // of measured

class Comparison {
 public:
  Comparison(const Domains& domains, std::span<const Measured> measured, Figure figure)
      : domains_(domains), measured_(measured), figure_(figure) {
    out_.all.resize(measured.size() * directions);
    for (const Measured& pair : measured) {
      out_.shared.push_back(domains.shared(pair.a, pair.b));
      nodes_ = std::max({nodes_, pair.a + 1, pair.b + 1});
    }
  }

  Ratios run() && {
    std::vector<Indexes> classes = comparable();
    for (const Indexes& members : classes) compare(members);
    if (!healthy_.empty()) {
      const double doubt = noise_doubt / std::sqrt(static_cast<double>(healthy_.size()));
      out_.noise = (1 + doubt) * bench::robust_deviation(std::move(healthy_), 1);
    }
    return std::move(out_);
  }

 private:
  // By shared domains and load. A class that is too small joins the next busier one.
  std::vector<Indexes> comparable() const {
    std::map<std::pair<std::size_t, std::size_t>, Indexes> classes;
    const std::vector<std::size_t> load = loads();
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      classes[{out_.shared[i], load[i]}].push_back(i);
    }
    std::vector<Indexes> out;
    Indexes waiting;
    for (auto entry = classes.begin(); entry != classes.end(); ++entry) {
      auto& members = entry->second;
      waiting.insert(waiting.end(), members.begin(), members.end());
      const auto next = std::next(entry);
      const bool last = next == classes.end() || next->first.first != entry->first.first;
      if (waiting.size() * directions >= fewest_comparable) {
        out.push_back(std::exchange(waiting, {}));
      } else if (last) {
        waiting.clear();
      }
    }
    return out;
  }

  // Per pair, how many pairs of its round its busiest uplink carried.
  std::vector<std::size_t> loads() const {
    Indexes by_round(measured_.size());
    for (std::size_t i = 0; i < by_round.size(); ++i) by_round[i] = i;
    std::ranges::stable_sort(by_round, {}, [&](std::size_t i) { return measured_[i].round; });
    std::vector<std::size_t> out(measured_.size());
    std::vector<std::size_t> carried(domains_.size());
    for (auto first = by_round.begin(); first != by_round.end();) {
      const std::size_t round = measured_[*first].round;
      const auto last = std::find_if(first, by_round.end(),
                                     [&](std::size_t i) { return measured_[i].round != round; });
      const std::span members(first, last);
      std::ranges::fill(carried, std::size_t{0});
      for (const std::size_t i : members) for_uplinks(i, [&](std::size_t up) { ++carried[up]; });
      for (const std::size_t i : members) {
        for_uplinks(i, [&](std::size_t up) { out[i] = std::max(out[i], carried[up]); });
      }
      first = last;
    }
    return out;
  }

  template <class Visit>
  void for_uplinks(std::size_t i, Visit visit) const {
    for (const std::size_t node : {measured_[i].a, measured_[i].b}) {
      for (const std::size_t domain : domains_.of(node).subspan(out_.shared[i])) visit(domain);
    }
  }

  Ratio& ratio(std::size_t i, std::size_t direction) {
    return out_.all[i * directions + direction];
  }

  void compare(const Indexes& members) {
    const double usual = usual_pace(members);
    if (usual <= 0) return;
    for (const std::size_t i : members) {
      for (std::size_t d = 0; d < directions; ++d) {
        ratio(i, d) = {pace(measured_[i], d, figure_) / usual, usual};
      }
    }
    correct_rounds(members);
    for (const std::size_t i : members) {
      for (std::size_t d = 0; d < directions; ++d) {
        const double value = ratio(i, d).value;
        if (value >= healthy_least && value <= healthy_most) healthy_.push_back(value);
      }
    }
  }

  double usual_pace(const Indexes& members) const {
    const std::vector<std::vector<double>> of_node = paces_by_node(members);
    std::vector<double> best;
    for (std::vector<double> paces : of_node) {
      if (!paces.empty()) best.push_back(bench::quantile(paces, best_quarter));
    }
    if (best.empty()) return 0;
    const double guess = bench::median(std::move(best));
    std::vector<double> healthy;
    for (const auto& paces : of_node) {
      for (const double value : paces) {
        if (value >= guess * healthy_least && value <= guess * healthy_most) {
          healthy.push_back(value);
        }
      }
    }
    return healthy.empty() ? guess : bench::median(std::move(healthy));
  }

  std::vector<std::vector<double>> paces_by_node(const Indexes& members) const {
    std::vector<std::vector<double>> out(nodes_);
    for (const std::size_t i : members) {
      if (measured_[i].state != State::measured) continue;
      for (std::size_t d = 0; d < directions; ++d) {
        const double value = pace(measured_[i], d, figure_);
        out[measured_[i].a].push_back(value);
        out[measured_[i].b].push_back(value);
      }
    }
    return out;
  }

  // Divides by the pace of a round beside that of its class.
  void correct_rounds(const Indexes& members) {
    std::vector<char> met(nodes_);
    std::size_t nodes = 0;
    std::map<std::size_t, Indexes> rounds;
    for (const std::size_t i : members) {
      for (const std::size_t node : {measured_[i].a, measured_[i].b}) {
        if (!std::exchange(met[node], char{1})) ++nodes;
      }
      rounds[measured_[i].round].push_back(i);
    }
    const double of_class = best_of(members);
    if (of_class <= 0) return;
    for (const auto& [round, pairs] : rounds) {
      const double share = static_cast<double>(pairs.size() * 2) / static_cast<double>(nodes);
      if (pairs.size() * directions < fewest_in_round || share < round_share_of_nodes) continue;
      const double of_round = best_of(pairs) / of_class;
      if (of_round <= 0) continue;
      for (const std::size_t i : pairs) {
        for (std::size_t d = 0; d < directions; ++d) {
          ratio(i, d).value /= of_round;
          ratio(i, d).expected *= of_round;
        }
      }
    }
  }

  double best_of(const Indexes& members) {
    std::vector<double> values;
    for (const std::size_t i : members) {
      for (std::size_t d = 0; d < directions; ++d) values.push_back(ratio(i, d).value);
    }
    return bench::quantile(values, best_quarter);
  }

  const Domains& domains_;
  std::span<const Measured> measured_;
  Figure figure_;
  std::size_t nodes_ = 0;
  Ratios out_;
  std::vector<double> healthy_;
};

}  // namespace

Ratios ratios(const Domains& domains, std::span<const Measured> measured, Figure figure) {
  return Comparison(domains, measured, figure).run();
}

Tally::Tally(std::size_t nodes, std::span<const Measured> measured, const Ratios& ratios,
             double slow_below)
    : measured_(measured), ratios_(ratios), slow_below_(slow_below), pairs_of_(nodes) {
  for (const std::size_t shared : ratios.shared) levels_ = std::max(levels_, shared + 1);
  counts_.resize(nodes * levels_ * directions);
  open_.resize(measured.size() * directions);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    pairs_of_[measured[i].a].push_back(i);
    pairs_of_[measured[i].b].push_back(i);
  }
  for (std::size_t figure = 0; figure < open_.size(); ++figure) {
    if (ratios.all[figure].value < 0) continue;
    open_[figure] = 1;
    change(figure, [](std::size_t& count) { ++count; });
  }
}

std::size_t Tally::place(std::size_t node, Way way, std::size_t shared) const {
  return (node * levels_ + shared) * directions + (way == Way::out ? 0 : 1);
}

const Count& Tally::of(std::size_t node, Way way, std::size_t shared) const {
  return counts_[place(node, way, shared)];
}

Count Tally::of_all_levels(std::size_t node, Way way) const {
  Count sum;
  for (std::size_t shared = 0; shared < levels_; ++shared) {
    sum.slow += of(node, way, shared).slow;
    sum.all += of(node, way, shared).all;
  }
  return sum;
}

bool Tally::slow(std::size_t figure) const {
  return ratios_.all[figure].value < slow_below_;
}

void Tally::explain(std::size_t figure) {
  if (!open(figure)) return;
  open_[figure] = 0;
  change(figure, [](std::size_t& count) { --count; });
}

std::size_t Tally::sender(std::size_t figure) const {
  const Measured& pair = measured_[figure / directions];
  return figure % directions == 0 ? pair.a : pair.b;
}

std::size_t Tally::receiver(std::size_t figure) const {
  const Measured& pair = measured_[figure / directions];
  return figure % directions == 0 ? pair.b : pair.a;
}

template <class Change>
void Tally::change(std::size_t figure, Change by) {
  const std::size_t shared = ratios_.shared[figure / directions];
  for (const std::size_t at :
       {place(sender(figure), Way::out, shared), place(receiver(figure), Way::in, shared)}) {
    by(counts_[at].all);
    if (slow(figure)) by(counts_[at].slow);
  }
}

}  // namespace toprun::pairs
