#include "bench/tables/compare.h"

#include <gtest/gtest.h>

namespace toprun::bench {
namespace {

Side side(double mean_us, double busbw, double cv, std::size_t samples) {
  Side result;
  result.times = {mean_us, 0, 0, 0, cv, samples};
  result.busbw = busbw;
  return result;
}

Row row(std::uint64_t bytes, std::optional<Side> out_of_place, std::optional<Side> in_place = {}) {
  Row result;
  result.bytes = bytes;
  result.out_of_place = std::move(out_of_place);
  result.in_place = std::move(in_place);
  return result;
}

Series series_of(std::vector<Row> rows) {
  Series series;
  series.backend = "nccl";
  series.order = "topology";
  series.fabric = "rdma";
  series.ranks = 8;
  series.nodes = 2;
  series.rows = std::move(rows);
  return series;
}

Report report_of(std::vector<Series> series) {
  Report report;
  report.series = std::move(series);
  return report;
}

TEST(Compare, ChangeNeedsASpread) {
  const struct {
    Side before, after;
    std::optional<double> ratio;
    Change change;
  } rows[] = {
      {side(150, 10, 0.01, 20), side(100, 15, 0.01, 20), 1.5, Change::faster},
      {side(100, 15, 0.01, 20), side(150, 10, 0.01, 20), 1 / 1.5, Change::slower},
      {side(110, 10, 0.01, 20), side(100, 11, 0.01, 20), 1.1, Change::small},
      {side(100, 11, 0.01, 20), side(110, 10, 0.01, 20), 1 / 1.1, Change::small},
      {side(100, 10, 0.3, 20), side(145, 10, 0.3, 20), 1 / 1.45, Change::small},
      {side(110, 10, 0.5, 20), side(100, 11, 0.5, 20), 1.1, Change::none},
      {side(110, 10, 0.01, 20), side(100, 11, 0, 0), 1.1, Change::unknown},
      {side(0, 10, 0, 0), side(100, 11, 0.01, 20), 1.1, Change::unknown},
      {side(0, 10, 0, 0), side(0, 7.6, 0, 0), 0.76, Change::unknown},
      {side(0, 10, 0, 0), side(0, 5.5, 0, 0), 0.55, Change::slower},
      {side(0, 10, 0, 0), side(0, 20, 0, 0), 2, Change::faster},
      {side(0, 0, 0, 0), side(100, 11, 0.01, 20), {}, Change::unknown},
  };
  for (const auto& expected : rows) {
    const Comparison comparison = compare(report_of({series_of({row(8, expected.before)})}),
                                          report_of({series_of({row(8, expected.after)})}));
    ASSERT_EQ(comparison.rows.size(), 1u);
    const Compared& compared = comparison.rows[0];
    ASSERT_EQ(compared.ratio.has_value(), expected.ratio.has_value());
    if (compared.ratio) {
      EXPECT_NEAR(*compared.ratio, *expected.ratio, 1e-9);
    }
    EXPECT_EQ(compared.change, expected.change);
    EXPECT_EQ(compared.interval.has_value(),
              expected.before.times.samples > 0 && expected.after.times.samples > 0);
  }
}

TEST(Compare, SeriesThatMatch) {
  const auto with = [](auto change) {
    Series series = series_of({row(8, side(1, 1, 0, 2))});
    change(series);
    return series;
  };
  const std::pair<Series, bool> rows[] = {
      {with([](Series&) {}), true},
      {with([](Series& s) { s.backend = ""; }), true},
      {with([](Series& s) { s.order = ""; }), true},
      {with([](Series& s) { s.ranks = 0; }), true},
      {with([](Series& s) { s.nodes = 0; }), true},
      {with([](Series& s) { s.fabric = "tcp"; }), true},
      {with([](Series& s) { s.backend = "gloo"; }), false},
      {with([](Series& s) { s.order = "worst"; }), false},
      {with([](Series& s) { s.ranks = 16; }), false},
      {with([](Series& s) { s.nodes = 4; }), false},
      {with([](Series& s) { s.collective = Collective::reduce; }), false},
  };
  for (const auto& [other, matches] : rows) {
    const Comparison comparison =
        compare(report_of({series_of({row(8, side(1, 1, 0, 2))})}), report_of({other}));
    EXPECT_EQ(comparison.rows.size(), matches ? 1u : 0u);
    EXPECT_EQ(comparison.only_before.size(), matches ? 0u : 1u);
    EXPECT_EQ(comparison.only_after.size(), matches ? 0u : 1u);
  }
}

TEST(Compare, TheSameFabricComesFirst) {
  Series rdma = series_of({row(8, side(100, 1, 0, 2))});
  Series tcp = series_of({row(8, side(400, 1, 0, 2))});
  tcp.fabric = "tcp";
  const Comparison comparison = compare(report_of({rdma, tcp}), report_of({tcp, rdma}));
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].ratio, 1);
  EXPECT_DOUBLE_EQ(*comparison.rows[1].ratio, 1);
}

TEST(Compare, PlacementsThatBothHave) {
  const Side slow = side(200, 1, 0, 2);
  const Side fast = side(100, 2, 0, 2);
  const std::tuple<Row, Row, double> rows[] = {
      {row(8, slow, fast), row(8, fast, fast), 2},
      {row(8, slow, fast), row(8, {}, fast), 1},
      {row(8, slow), row(8, {}, fast), 2},
  };
  for (const auto& [before, after, ratio] : rows) {
    const Comparison comparison =
        compare(report_of({series_of({before})}), report_of({series_of({after})}));
    ASSERT_EQ(comparison.rows.size(), 1u);
    EXPECT_DOUBLE_EQ(*comparison.rows[0].ratio, ratio);
  }
}

TEST(Compare, Text) {
  Series other = series_of({});
  other.collective = Collective::all_gather;
  const Report before =
      report_of({series_of({row(1024, side(10, 0.1, 0.01, 20)),
                            row(1 << 20, side(100, 18.35, 0.02, 20)), row(8, side(1, 1, 0, 0))})});
  const Report after =
      report_of({series_of({row(1024, side(10.01, 0.1, 0.01, 20)),
                            row(1 << 20, side(125, 14.68, 0.02, 20)), row(16, side(1, 1, 0, 0))}),
                 other});
  EXPECT_EQ(comparison_text(compare(before, after)),
            "all_reduce nccl rdma topology, 8 ranks on 2 nodes: busbw in GB/s\n"
            "     size    before     after   ratio           95 %  change\n"
            "    1 KiB     0.100     0.100   0.999  0.993 to 1.005  no difference\n"
            "    1 MiB     18.35     14.68   0.800  0.790 to 0.810  perhaps chance\n"
            "only before: 8 B of all_reduce nccl rdma topology, 8 ranks on 2 nodes\n"
            "only after: 16 B of all_reduce nccl rdma topology, 8 ranks on 2 nodes\n"
            "only after: all_gather nccl rdma topology, 8 ranks on 2 nodes\n");
}

Row row_of(std::uint64_t bytes, const char* type, const char* redop, int root, double mean_us) {
  Row result = row(bytes, side(mean_us, 1000 / mean_us, 0, 0));
  result.type = type;
  result.redop = redop;
  result.root = root;
  return result;
}

// What `-o all` and `-d all` print: each size once for each operation and type.
TEST(Compare, RowsOfTheSameKindArePaired) {
  const Report before =
      report_of({series_of({row_of(8, "float", "sum", -1, 10), row_of(8, "float", "max", -1, 10),
                            row_of(8, "half", "max", -1, 10)})});
  const Report after = report_of(
      {series_of({row_of(8, "half", "max", -1, 10), row_of(8, "float", "max", -1, 20),
                  row_of(8, "float", "sum", -1, 10), row_of(8, "float", "min", -1, 10)})});
  EXPECT_EQ(comparison_text(compare(before, after)),
            "all_reduce nccl rdma topology, 8 ranks on 2 nodes: busbw in GB/s\n"
            "     size  type      redop    before     after   ratio           95 %  change\n"
            "      8 B  float     sum      100.00    100.00   1.000              -  cannot tell: "
            "no spread\n"
            "      8 B  float     max      100.00     50.00   0.500              -  slower\n"
            "      8 B  half      max      100.00    100.00   1.000              -  cannot tell: "
            "no spread\n"
            "only after: 8 B float min of all_reduce nccl rdma topology, 8 ranks on 2 nodes\n");
}

TEST(Compare, RootsAndWhatIsNotKnown) {
  Series rooted = series_of({row_of(8, "float", "none", 0, 10), row_of(8, "float", "none", 1, 20)});
  rooted.collective = Collective::broadcast;
  Series turned = rooted;
  std::ranges::reverse(turned.rows);
  for (const Compared& compared : compare(report_of({rooted}), report_of({turned})).rows) {
    EXPECT_DOUBLE_EQ(*compared.ratio, 1);
  }
  // A file that tells no type, operation and root agrees with any; each row is paired once.
  Series unknown = series_of({row_of(8, "", "", -1, 10), row_of(8, "", "", -1, 20)});
  unknown.collective = Collective::broadcast;
  const Comparison comparison = compare(report_of({rooted}), report_of({unknown}));
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(*comparison.rows[1].ratio, 1);
  // The same size measured again and again: one after the other.
  const Series cycles =
      series_of({row_of(8, "float", "sum", -1, 10), row_of(8, "float", "sum", -1, 20),
                 row_of(8, "float", "sum", -1, 30)});
  for (const Compared& compared : compare(report_of({cycles}), report_of({cycles})).rows) {
    EXPECT_DOUBLE_EQ(*compared.ratio, 1);
  }
}

TEST(Compare, SaysWhatCouldNotBeJudged) {
  const auto compared = [](std::vector<Row> rows) {
    const Report report = report_of({series_of(std::move(rows))});
    return compare(report, report);
  };
  const Row known = row(8, side(10, 1, 0.01, 20));
  const Row unknown = row(16, side(10, 1, 0, 0));
  EXPECT_FALSE(what_could_not_be_judged(compared({known})));
  EXPECT_TRUE(
      what_could_not_be_judged(compared({unknown}))->starts_with("these files have one figure"));
  EXPECT_TRUE(
      what_could_not_be_judged(compared({known, unknown}))->starts_with("1 of 2 rows could not"));
}

TEST(Compare, SaysWhatCountsAsSlower) {
  const auto said = [](double before_us, double after_us, double cv, std::size_t samples) {
    return what_counts(compare(report_of({series_of({row(8, side(before_us, 0, cv, samples))})}),
                               report_of({series_of({row(8, side(after_us, 0, cv, samples))})})));
  };
  const auto limit = [](const std::string& figure) {
    return "a result counts as slower if " + figure +
           " is below 0.75, because two runs without a change may differ by more than their "
           "iterations; --fail-below RATIO judges by the ratio alone";
  };
  EXPECT_FALSE(said(10, 13, 0, 0));
  EXPECT_FALSE(said(20, 10, 0, 0));
  EXPECT_FALSE(said(20, 10, 0.01, 20));
  for (const std::size_t samples : {0u, 20u}) {
    EXPECT_EQ(said(10, 20, 0.01, samples).value_or(""),
              "8 B of all_reduce nccl rdma topology, 8 ranks on 2 nodes has 50.0 % of its earlier "
              "speed: " +
                  limit(samples > 0 ? "its whole 95 % interval" : "its ratio"));
  }
  EXPECT_EQ(said(10, 11, 0.01, 20).value_or(""),
            "perhaps chance: " + limit("its whole 95 % interval"));
}

TEST(Gate, OfAComparison) {
  const Report before = report_of(
      {series_of({row_of(8, "float", "sum", -1, 10), row_of(1 << 20, "float", "sum", -1, 100)})});
  const Report after = report_of(
      {series_of({row_of(8, "float", "sum", -1, 10), row_of(1 << 20, "float", "sum", -1, 125)})});
  const Verdict failed = gate(compare(before, after), 0.9);
  EXPECT_FALSE(failed.is_passed);
  EXPECT_EQ(failed.sentence,
            "1 MiB of all_reduce nccl rdma topology, 8 ranks on 2 nodes has 80.0 % of its earlier "
            "speed (the slowest of 2 rows), below 90 %");
  EXPECT_TRUE(gate(compare(before, after), 0.8).is_passed);
  EXPECT_FALSE(gate(compare(before, {}), 0.1).is_passed);
  const std::string text = comparison_text(compare(before, after), 0.9);
  EXPECT_TRUE(text.contains("  not below 0.9\n")) << text;
  EXPECT_TRUE(text.contains("  below 0.9\n")) << text;
}

TEST(Gate, SlowestSeriesDecides) {
  Series slow = series_of({row(8, side(1, 1, 0, 2)), row(1024, side(1, 85.15, 0, 2))});
  slow.order = "worst";
  Series barrier = series_of({row(0, side(1, 0, 0, 2))});
  barrier.collective = Collective::barrier;
  const Report report = report_of({series_of({row(1024, side(1, 99, 0, 2))}), slow, barrier});
  const std::string figures =
      "all_reduce nccl rdma worst, 8 ranks on 2 nodes: busbw 85.15 GB/s (681.2 Gbps) is 85 % of "
      "the "
      "expected 100.00 GB/s, ";
  const Verdict failed = gate(report, {100, 0.9});
  EXPECT_FALSE(failed.is_passed);
  EXPECT_EQ(failed.sentence, figures + "below 90 %");
  const Verdict passed = gate(report, {100, 0.85});
  EXPECT_TRUE(passed.is_passed);
  EXPECT_EQ(passed.sentence, figures + "not below 85 %");
}

TEST(Gate, RefusesWhatIsNoMeasurement) {
  EXPECT_EQ(gate({}, {100, 0.9}).sentence, "the report contains no busbw");
  Report report = report_of({series_of({row(1024, side(1, 99, 0, 2))})});
  report.series[0].rows[0].out_of_place->wrong = 2;
  EXPECT_FALSE(gate(report, {1, 0.9}).is_passed);
  EXPECT_EQ(gate(report, {1, 0.9}).sentence, "2 elements of the results are wrong");
  report.errors = {"rank 3\nstopped"};
  EXPECT_FALSE(gate(report, {1, 0.9}).is_passed);
  EXPECT_EQ(gate(report, {1, 0.9}).sentence, "the measurement had errors: rank 3\\nstopped");
}

}  // namespace
}  // namespace toprun::bench
