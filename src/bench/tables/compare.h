#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tables/kinds.h"
#include "bench/tables/measurement.h"
#include "bench/tables/statistics.h"

namespace toprun::bench {

enum class Change {
  faster,
  slower,
  none,     // the 95 % interval contains 1
  unknown,  // a report does not contain the spread of its iterations, as in most imported tables
};

// Without a spread, a speed below this share of the other counts as slower all the same: between
// two runs of a network that is well, even small messages seldom differ by more.
constexpr double share_without_spread = 0.75;

// One size of one series in two reports. The placement is the first that both have of out of place
// and in place, else what each has.
struct Compared {
  Series series;  // the first report's, without rows
  Row row;        // the first report's, without figures
  Side before, after;
  // after's speed over before's: above 1 is faster. Unset: neither time nor busbw is known of both.
  std::optional<double> ratio;
  std::optional<Ratio> interval;  // unset: the spread is not known
  Change change = Change::unknown;
};

struct Comparison {
  std::vector<Compared> rows;
  Kinds kinds;  // of the rows of both
  // Series and sizes that one report lacks, as a person would name them.
  std::vector<std::string> only_before, only_after;
};

// Series match that agree in collective, backend, ranks, nodes and order, where a value that one
// report does not know agrees with any; one that also has the same fabric and knows all comes
// first. Each series is matched once, and so is each row: with one of its size, type, operation and
// root, of several the next.
Comparison compare(const Report& before, const Report& after);

// One line per matched row (busbw in GB/s), then the rows that occur in only one report.
std::string comparison_text(const Comparison& comparison);

// nullopt if every row's difference could be distinguished from chance; otherwise a remark.
std::optional<std::string> what_could_not_be_judged(const Comparison& comparison);

// The slowest row by share_without_spread alone, in words; nullopt: no such row.
std::optional<std::string> what_counts_without_spread(const Comparison& comparison);

// The result that a report must reach for a script to continue.
struct Expectation {
  // GB/s, of each series' largest size; above 0. Unset: the lower end of what is usual for its
  // GPUs (anchors.h).
  std::optional<double> busbw;
  double fail_below = 0.9;  // share of the expected busbw
};
struct Verdict {
  bool is_passed = false;
  std::string sentence;  // without a full stop
};

// Whether each row has at least this share of its speed before. Fails also where no row has a
// ratio.
Verdict gate(const Comparison& comparison, double fail_below);

// Fails also for a report without figures, with errors, or with wrong elements, and where nothing
// is usual for its GPUs. Barriers, which have no busbw, are left out. The sentence is about the
// series that is furthest below what is expected.
Verdict gate(const Report& report, const Expectation& expectation);

}  // namespace toprun::bench
