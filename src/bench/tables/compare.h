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

// If the spread is unknown, a speed below this share of the other still counts as slower. Between
// two runs on a healthy network, even small messages seldom differ by more.
constexpr double share_without_spread = 0.75;

// One size of one series in two reports. The placement is the first of out of place and in place
// that both reports have. If they share no placement, each report uses its own.
struct Compared {
  Series series;  // the first report's, without rows
  Row row;        // the first report's, without figures
  Side before, after;
  // after's speed divided by before's: above 1 is faster. Unset: both reports must have times, or
  // both busbw.
  std::optional<double> ratio;
  std::optional<Ratio> interval;  // unset: the spread is not known
  Change change = Change::unknown;
};

struct Comparison {
  std::vector<Compared> rows;
  Kinds kinds;  // of the rows of both
  // Series and sizes that one report lacks, in words for users.
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
  // In GB/s, for each series' largest size; above 0. Unset: use the lower end of the usual range
  // for its GPUs (anchors.h).
  std::optional<double> busbw;
  double fail_below = 0.9;  // share of the expected busbw
};
struct Verdict {
  bool is_passed = false;
  std::string sentence;  // without a full stop
};

// Passes if each row has at least this share of its speed before. Also fails if no row has a ratio.
Verdict gate(const Comparison& comparison, double fail_below);

// Also fails for a report without figures, with errors or with wrong elements, and if no usual
// range is known for its GPUs. Barriers are skipped, because they have no busbw. The sentence
// describes the series that is furthest below the expected busbw.
Verdict gate(const Report& report, const Expectation& expectation);

}  // namespace toprun::bench
