#include "bench/tables/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/text/text.h"
#include "bench/tables/figures.h"
#include "bench/tables/live_table.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

// size, backend, order, nodes, ranks, time, busbw, share of the limit, ratio
constexpr auto comparison_columns = "{:>9}  {:<9}  {:<9}  {:>5}  {:>5}  {:>11}  {:>8}  {:>5}  {}\n";

std::string ratio_text(const std::optional<Ratio>& ratio) {
  if (!ratio) return "1";
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio->value, ratio->low, ratio->high);
}

std::string share_of_limit(const Series& series, const Side& side) {
  if (!series.limit_gbps) return "-";
  return fmt::format("{:.0f} %", 100 * gbps_of(side.busbw) / *series.limit_gbps);
}

std::string over_text(const Series& series) {
  return series.fabric.empty() ? series.backend : series.backend + " " + series.fabric;
}

// An empty text or 0 is not known.
template <class Value>
bool agree(const Value& a, const Value& b) {
  return a == b || a == Value() || b == Value();
}

bool may_match(const Series& a, const Series& b) {
  return a.collective == b.collective && agree(a.backend, b.backend) && agree(a.order, b.order) &&
         agree(a.ranks, b.ranks) && agree(a.nodes, b.nodes) && agree(a.source, b.source);
}

bool is_same(const Series& a, const Series& b) {
  return a.collective == b.collective && a.backend == b.backend && a.order == b.order &&
         a.ranks == b.ranks && a.nodes == b.nodes && a.fabric == b.fabric && a.source == b.source;
}

using Match = bool (*)(const Series&, const Series&);

// For each series before, the series after that is its partner; null: none.
std::vector<const Series*> partners(const Report& before, const Report& after) {
  std::vector<const Series*> out(before.series.size());
  std::vector<bool> used(after.series.size());
  for (const Match match : {is_same, may_match}) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t j = 0; j < used.size() && out[i] == nullptr; ++j) {
        if (used[j] || !match(before.series[i], after.series[j])) continue;
        out[i] = &after.series[j];
        used[j] = true;
      }
    }
  }
  return out;
}

std::string name_of(const Series& series) {
  std::string out(facts_of(series.collective).name);
  for (const std::string* part : {&series.backend, &series.fabric, &series.order}) {
    if (!part->empty()) out += " " + printable(*part);
  }
  out += ranks_text(series);
  if (!series.source.empty()) out += ", " + printable(series.source);
  return out;
}

std::pair<const Side*, const Side*> sides_of(const Row& before, const Row& after) {
  if (before.out_of_place && after.out_of_place) {
    return {&*before.out_of_place, &*after.out_of_place};
  }
  if (before.in_place && after.in_place) return {&*before.in_place, &*after.in_place};
  return {side_of(before), side_of(after)};
}

std::optional<double> ratio_of(const Side& before, const Side& after) {
  if (before.times.mean_us > 0 && after.times.mean_us > 0) {
    return before.times.mean_us / after.times.mean_us;
  }
  if (before.busbw > 0 && after.busbw > 0) return after.busbw / before.busbw;
  return std::nullopt;
}

Change change_without_spread(const std::optional<double>& ratio) {
  if (ratio && *ratio < share_between_runs) return Change::slower;
  if (ratio && *ratio * share_between_runs > 1) return Change::faster;
  return Change::unknown;
}

Change change_of(const std::optional<double>& ratio, const std::optional<Ratio>& interval) {
  if (!interval) return change_without_spread(ratio);
  if (interval->high < share_between_runs) return Change::slower;
  if (interval->low * share_between_runs > 1) return Change::faster;
  return interval->is_significant() ? Change::small : Change::none;
}

Series without_rows(const Series& series) {
  Series out = series;
  out.rows.clear();
  return out;
}

Row without_figures(const Row& row) {
  return {row.bytes, row.count, row.type, row.redop, row.root, {}, {}};
}

std::optional<Compared> compare_row(const Series& series, const Row& before, const Row& after) {
  const auto [first, second] = sides_of(before, after);
  if (first == nullptr || second == nullptr) return std::nullopt;
  Compared out{without_rows(series), without_figures(before), *first, *second, {}, {},
               Change::unknown};
  out.ratio = ratio_of(*first, *second);
  out.interval = unpaired_ratio(first->times, second->times);
  out.change = change_of(out.ratio, out.interval);
  return out;
}

std::string size_name(const Series& series, const Row& row, const Kinds& kinds) {
  const std::string kind = kind_text(row, kinds);
  return fmt::format("{}{}{} of {}", size_text(row.bytes), kind.empty() ? "" : " ", kind,
                     name_of(series));
}

// For each row before, the row after that is its partner; null: none.
std::vector<const Row*> partners(const Series& before, const Series& after) {
  std::vector<const Row*> out(before.rows.size());
  std::map<std::uint64_t, std::deque<const Row*>> left;  // by size
  for (const Row& row : after.rows) left[row.bytes].push_back(&row);
  const auto pair_up = [&](const auto& match) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] != nullptr) continue;
      auto& candidates = left[before.rows[i].bytes];
      const auto next = std::ranges::find_if(
          candidates, [&](const Row* row) { return match(before.rows[i], *row); });
      if (next == candidates.end()) continue;
      out[i] = *next;
      candidates.erase(next);
    }
  };
  pair_up(is_same_kind);
  pair_up([&](const Row& a, const Row& b) { return may_be_same_kind(before.collective, a, b); });
  return out;
}

void compare_series(const Series& before, const Series& after, Comparison& out) {
  const auto partner = partners(before, after);
  for (std::size_t i = 0; i < partner.size(); ++i) {
    if (partner[i] == nullptr) {
      out.only_before.push_back(size_name(before, before.rows[i], out.kinds));
    } else if (auto compared = compare_row(before, before.rows[i], *partner[i])) {
      out.rows.push_back(std::move(*compared));
    }
  }
  const std::set<const Row*> paired(partner.begin(), partner.end());
  for (const Row& row : after.rows) {
    if (!paired.contains(&row)) out.only_after.push_back(size_name(after, row, out.kinds));
  }
}

std::string_view change_text(Change change) {
  switch (change) {
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::none:
      return "no difference";
    case Change::small:
      return "perhaps chance";
    case Change::unknown:
      return "cannot tell: no spread";
  }
  return {};
}

// size, kinds, busbw before and after, ratio, interval, change
constexpr auto change_columns = "{:>9}{}  {:>8}  {:>8}  {:>6}  {:>13}  {}\n";

// What decides with --fail-below: the ratio alone.
std::string judged_text(const Compared& row, std::optional<double> fail_below) {
  if (!fail_below) return std::string(change_text(row.change));
  if (!row.ratio) return "cannot tell";
  return fmt::format("{} {:g}", *row.ratio >= *fail_below ? "not below" : "below", *fail_below);
}

std::string row_text(const Compared& row, const Kinds& kinds, std::optional<double> fail_below) {
  const std::string ratio = row.ratio ? fmt::format("{:.3f}", *row.ratio) : "-";
  const std::string interval =
      row.interval ? fmt::format("{:.3f} to {:.3f}", row.interval->low, row.interval->high) : "-";
  return fmt::format(change_columns, size_text(row.row.bytes), kind_columns(row.row, kinds),
                     busbw_text(row.before), busbw_text(row.after), ratio, interval,
                     judged_text(row, fail_below));
}

// The row with the smallest ratio among those; null: none has one.
const Compared* slowest(const Comparison& comparison, bool (*counts)(const Compared&)) {
  const Compared* worst = nullptr;
  for (const Compared& row : comparison.rows) {
    if (!row.ratio || !counts(row)) continue;
    if (worst == nullptr || *row.ratio < *worst->ratio) worst = &row;
  }
  return worst;
}

std::string speed_sentence(const Compared& row, const Kinds& kinds) {
  return fmt::format("{} has {:.1f} % of its earlier speed", size_name(row.series, row.row, kinds),
                     100 * *row.ratio);
}

std::uint64_t wrong_in(const Report& report) {
  std::uint64_t sum = 0;
  for (const Series& series : report.series) sum += wrong_elements(series);
  return sum;
}

// A series beside what is expected of it.
struct Reached {
  const Series* series;
  double busbw;     // GB/s
  double expected;  // GB/s; 0: nothing is usual for it
  double share() const { return expected > 0 ? busbw / expected : 0; }
};

double expected_of(const Report& report, const Series& series, const Expectation& expectation) {
  if (expectation.busbw) return *expectation.busbw;
  const Anchor* const anchor = anchor_of(report, series);
  return anchor != nullptr ? anchor->low : 0;
}

std::vector<Reached> reached_by(const Report& report, const Expectation& expectation) {
  std::vector<Reached> found;
  for (const Series& series : report.series) {
    const auto plateau = plateau_of(series);
    if (!plateau || series.collective == Collective::barrier) continue;
    found.push_back(
        {&series, side_of(plateau->row)->busbw, expected_of(report, series, expectation)});
  }
  return found;
}

std::string share_text(const Reached& reached) {
  const double percent = 100 * reached.share();
  return fmt::format("{}: busbw {} GB/s ({:.4g} Gbps) is {:.{}f} % of the expected {} GB/s",
                     name_of(*reached.series), rate_text(reached.busbw), gbps_of(reached.busbw),
                     percent, percent < 10 ? 1 : 0, rate_text(reached.expected));
}

}  // namespace

std::string comparison_heading(const Series& first) {
  return fmt::format("{}, in turns\n", facts_of(first.collective).name) +
         fmt::format(comparison_columns, "size", "over", "order", "nodes", "ranks", "time", "busbw",
                     "limit", "geometric mean of the turns' ratios") +
         without_blanks_at_end(
             fmt::format(comparison_columns, "", "", "", "", "", "", "GB/s", "", ""));
}

std::string comparison_row(const Series& series, const Row& row,
                           const std::optional<Ratio>& ratio) {
  const Side* const side = side_of(row);
  if (side == nullptr) return {};
  return fmt::format(comparison_columns, size_text(row.bytes), printable(over_text(series)),
                     series.order.empty() ? "-" : printable(series.order), series.nodes,
                     series.ranks, time_text(side->times.mean_us), busbw_text(*side),
                     share_of_limit(series, *side), ratio_text(ratio));
}

Comparison compare(const Report& before, const Report& after) {
  Comparison out;
  std::vector<Series> all = before.series;
  all.insert(all.end(), after.series.begin(), after.series.end());
  out.kinds = kinds_in(all);
  const auto partner = partners(before, after);
  for (std::size_t i = 0; i < partner.size(); ++i) {
    if (partner[i] == nullptr) {
      out.only_before.push_back(name_of(before.series[i]));
    } else {
      compare_series(before.series[i], *partner[i], out);
    }
  }
  for (const Series& series : after.series) {
    if (std::ranges::find(partner, &series) == partner.end()) {
      out.only_after.push_back(name_of(series));
    }
  }
  return out;
}

std::string comparison_text(const Comparison& comparison, std::optional<double> fail_below) {
  std::string out;
  std::string series;
  for (const Compared& row : comparison.rows) {
    if (std::string name = name_of(row.series); name != series) {
      series = std::move(name);
      out += series + ": busbw in GB/s\n";
      out += fmt::format(change_columns, "size", kind_heading(comparison.kinds), "before", "after",
                         "ratio", "95 %", "change");
    }
    out += row_text(row, comparison.kinds, fail_below);
  }
  for (const std::string& name : comparison.only_before) out += "only before: " + name + "\n";
  for (const std::string& name : comparison.only_after) out += "only after: " + name + "\n";
  return out;
}

std::optional<std::string> what_could_not_be_judged(const Comparison& comparison) {
  const auto unknown = std::ranges::count(comparison.rows, Change::unknown, &Compared::change);
  if (unknown == 0) return std::nullopt;
  const auto all = static_cast<std::ptrdiff_t>(comparison.rows.size());
  if (unknown == all) {
    return "these files have one figure for each row, without its spread, so a change cannot be "
           "told from noise; --fail-below judges by the ratio alone";
  }
  const std::string which =
      fmt::format("{} of {} could not be judged", unknown, counted(all, "row"));
  return which +
         ": these results do not show how much the iterations vary, so a difference may be chance; "
         "--fail-below judges by the ratio alone";
}

std::optional<std::string> what_counts(const Comparison& comparison) {
  const auto limit = [](std::string_view figure) {
    return fmt::format(
        "a result counts as slower if {} is below {:g}, because two runs without a change may "
        "differ by more than their iterations; --fail-below RATIO judges by the ratio alone",
        figure, share_between_runs);
  };
  constexpr std::string_view whole_interval = "its whole 95 % interval";
  const Compared* const worst =
      slowest(comparison, [](const Compared& row) { return row.change == Change::slower; });
  if (worst != nullptr) {
    return speed_sentence(*worst, comparison.kinds) + ": " +
           limit(worst->interval ? whole_interval : "its ratio");
  }
  if (std::ranges::count(comparison.rows, Change::small, &Compared::change) == 0) return {};
  return "perhaps chance: " + limit(whole_interval);
}

Verdict gate(const Comparison& comparison, double fail_below) {
  const Compared* const worst = slowest(comparison, [](const Compared&) { return true; });
  if (worst == nullptr) return {false, "the two results have no values that can be compared"};
  const bool is_passed = *worst->ratio >= fail_below;
  const std::size_t rows = comparison.rows.size();
  return {is_passed, fmt::format("{}{}, {} {:g} %", speed_sentence(*worst, comparison.kinds),
                                 rows > 1 ? fmt::format(" (the slowest of {} rows)", rows) : "",
                                 is_passed ? "not below" : "below", 100 * fail_below)};
}

Verdict gate(const Report& report, const Expectation& expectation) {
  if (!report.errors.empty()) {
    return {false, "the measurement had errors: " + printable(report.errors.front())};
  }
  if (const std::uint64_t wrong = wrong_in(report); wrong > 0) {
    return {false, fmt::format("{} of the results are wrong", counted(wrong, "element"))};
  }
  const std::vector<Reached> all = reached_by(report, expectation);
  if (all.empty()) return {false, "the report contains no busbw"};
  const Reached worst = *std::ranges::min_element(all, {}, &Reached::share);
  const bool is_passed = worst.share() >= expectation.fail_below;
  return {is_passed, fmt::format("{}, {} {:.0f} %", share_text(worst),
                                 is_passed ? "not below" : "below", 100 * expectation.fail_below)};
}

}  // namespace toprun::bench
