#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tables/measurement.h"
#include "bench/tables/statistics.h"

namespace toprun::bench {

enum class Change {
  faster,
  slower,
  none,     // the 95 % interval contains 1
  small,    // the interval does not contain 1, but two runs without a change may differ this much
  unknown,  // a report does not contain the spread of its iterations, as in most imported tables
};

// A speed counts as slower if the 95 % interval of its ratio to the earlier speed is below this
// value. If the spread is unknown, the ratio itself must be below this value. Two runs on a healthy
// network seldom differ more than this, even for small messages. How much a run's iterations differ
// does not show how much two runs differ.
constexpr double share_between_runs = 0.75;

// The results in two reports for one size of one series. Out-of-place results are compared if both
// reports have them, otherwise in-place results. If one report has only out-of-place results and
// the other only in-place results, the two are compared with each other.
struct Compared {
  Series series;  // the series from the first report, without rows
  Row row;        // the row from the first report, without measured values
  Side before, after;
  // The speed in `after` divided by the speed in `before`: above 1 is faster. Unset: no value
  // (times or busbw) is in both reports.
  std::optional<double> ratio;
  std::optional<Ratio> interval;  // unset: the spread is unknown
  Change change = Change::unknown;
};

struct Comparison {
  std::vector<Compared> rows;
  Kinds kinds;  // the kinds of rows in both reports
  // Series and sizes that only one report contains, in words for users.
  std::vector<std::string> only_before, only_after;
};

// Compares two reports series by series. Two series match if they have the same collective,
// backend, ranks, nodes, order and source. An unknown value matches any value. If several series
// match, the series that is equal in all values, including the fabric, is preferred. Each series is
// matched at most once. Each row is matched at most once too, with the next unmatched row that has
// the same size, type, operation and root.
Comparison compare(const Report& before, const Report& after);

// Returns one line per matched row (busbw in GB/s), and then the rows that only one report
// contains. With `fail_below`, the column "change" says whether gate() would reject the row,
// because its ratio is below `fail_below`.
std::string comparison_text(const Comparison& comparison,
                            std::optional<double> fail_below = std::nullopt);

// Returns a remark on rows that could not be judged. The reason is that the spread of their times
// is unknown. nullopt if there are no such rows.
std::optional<std::string> what_could_not_be_judged(const Comparison& comparison);

// If a row counts as slower, explains the limit share_between_runs and names the slowest row. Else,
// if a row's change is small, only explains the limit; otherwise returns nullopt.
std::optional<std::string> what_counts(const Comparison& comparison);

// The result that a report must reach (--expect-busbw, --fail-below). toprun's exit code tells
// scripts whether the report reaches it.
struct Expectation {
  // The expected busbw in GB/s for the largest size of each series; above 0. Unset: use the lower
  // end of the usual range for the series' GPUs (figures.h).
  std::optional<double> busbw;
  double fail_below = 0.9;  // share of the expected busbw
};
struct Verdict {
  bool is_passed = false;
  std::string sentence;  // without a full stop
};

// Decides whether the later report is fast enough. The report passes if each row reaches at least
// the share `fail_below` of its earlier speed. The report fails if no row has a ratio, because
// nothing could be compared.
Verdict gate(const Comparison& comparison, double fail_below);

// Decides whether a report reaches the expectation. The report fails if a series is below the
// expected busbw, or if the report has no measured values, has errors or has wrong elements. Also
// fails if `expectation` has no busbw and no usual range is known for the GPUs; the command refuses
// this before it measures. Skips barriers, which have no busbw. The verdict's sentence describes
// the series furthest below the expected busbw.
Verdict gate(const Report& report, const Expectation& expectation);

// These functions return a human-readable table's heading and one row. The table compares series
// that were measured in turns. The rows are grouped by size. The first series of each size is the
// baseline for the other series. "limit" is busbw as a share of the links' limit. The last column
// is the ratio of the series' times to the baseline's (paired_ratio() of their turns), with the
// 95 % interval.
std::string comparison_heading(const Series& first);
std::string comparison_row(const Series& series, const Row& row, const std::optional<Ratio>& ratio);

}  // namespace toprun::bench
