#include "bench/tables/history.h"

#include <gtest/gtest.h>

#include "bench/tables/json.h"

namespace toprun::bench {
namespace {

Row row(std::uint64_t bytes, double busbw) {
  Row row;
  row.bytes = bytes;
  row.type = "float";
  row.redop = "sum";
  Side& side = row.out_of_place.emplace();
  side.algbw = side.busbw = busbw;
  side.times.mean_us = 1;
  return row;
}

Report report(std::string time, double busbw, std::string backend = "nccl") {
  Series series;
  series.backend = std::move(backend);
  series.order = "topology";
  series.ranks = 16;
  series.nodes = 2;
  series.rows = {row(1 << 20, busbw / 2), row(1 << 30, busbw)};
  Report report;
  report.start_time = std::move(time);
  report.series = {series};
  return report;
}

TEST(History, ALineIsAReportWithTheLargestSizes) {
  const std::string line = history_line(report("2026-11-20T10:00:00.000Z", 100));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const History history = read_history(line + line, "bench.jsonl");
  ASSERT_EQ(history.reports.size(), 2u) << testing::PrintToString(history.unreadable);
  ASSERT_EQ(history.reports[1].series.size(), 1u);
  EXPECT_EQ(history.reports[1].series[0].rows.size(), 1u);
  EXPECT_EQ(history.reports[1].series[0].rows[0].bytes, 1u << 30);
}

TEST(History, ALineThatIsCutOffCostsNoOther) {
  const std::string line = history_line(report("2026-11-20T10:00:00.000Z", 100));
  const History history = read_history(line + line.substr(0, 40) + "\n\n" + line, "bench.jsonl");
  EXPECT_EQ(history.reports.size(), 2u);
  ASSERT_EQ(history.unreadable.size(), 1u);
  EXPECT_TRUE(history.unreadable[0].starts_with("line 2: ")) << history.unreadable[0];
}

// Lines of several jobs need not stand in the order of time.
TEST(History, EachIsBesideTheMedianOfEarlierOnes) {
  const std::string text = history_line(report("2026-11-22T10:00:00.000Z", 90)) +
                           history_line(report("2026-11-20T10:00:00.000Z", 100)) +
                           history_line(report("2026-11-21T22:00:00.000Z", 110)) +
                           history_line(report("2026-11-21T10:00:00.000Z", 7, "tcp")) +
                           history_line(report("no time", 5));
  const auto kinds = kinds_of(read_history(text, "bench.jsonl").reports);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(history_text(kinds, 2),
            "all_reduce nccl, 16 ranks on 2 nodes, 1 GiB, order topology: busbw\n"
            "  2026-11-21T22:00Z     110.00 GB/s     +10.0 %\n"
            "  2026-11-22T10:00Z      90.00 GB/s     -14.3 %\n"
            "\n"
            "all_reduce tcp, 16 ranks on 2 nodes, 1 GiB, order topology: busbw\n"
            "  2026-11-21T10:00Z       7.00 GB/s\n");
  EXPECT_DOUBLE_EQ(kinds[0].moments[1].days, 1.5);
}

Report on(Report report, const std::vector<std::string>& hosts, const std::string& name) {
  report.series[0].rows.erase(report.series[0].rows.begin());  // as a line of a history
  for (const std::string& host : hosts) report.devices.push_back({0, host, 0, 0, name});
  return report;
}

// A slower machine does not count as a slowdown of another machine.
TEST(History, OtherHostsOrGpusAreAnotherKind) {
  const std::string h100 = "NVIDIA H100", h200 = "NVIDIA H200";
  std::vector<std::string> many, others;
  for (int i = 0; i < 40; ++i) many.push_back("n" + std::to_string(i));
  others = many;
  others.back() = "n77";
  const Report reports[] = {
      on(report("2026-11-20T10:00:00Z", 100), {"a1", "a2"}, h100),
      on(report("2026-11-21T10:00:00Z", 50), {"b1", "b2"}, h100),
      on(report("2026-11-22T10:00:00Z", 110), {"a2", "a1"}, h100),
      on(report("2026-11-23T10:00:00Z", 200), {"a1", "a2"}, h200),
      on(report("2026-11-23T11:00:00Z", 1, "tcp"), {"a1", "a2"}, "cpu"),
      on(report("2026-11-24T10:00:00Z", 10, "tcp"), many, "cpu"),
      on(report("2026-11-25T10:00:00Z", 20, "tcp"), others, "cpu"),
  };
  EXPECT_EQ(history_text(kinds_of(reports), 9),
            "all_reduce nccl, 16 ranks on 2 nodes, 1 GiB, order topology, on a[1-2] with NVIDIA "
            "H100: busbw\n"
            "  2026-11-20T10:00Z     100.00 GB/s\n"
            "  2026-11-22T10:00Z     110.00 GB/s     +10.0 %\n"
            "\n"
            "all_reduce nccl, 16 ranks on 2 nodes, 1 GiB, order topology, on a[1-2] with NVIDIA "
            "H200: busbw\n"
            "  2026-11-23T10:00Z     200.00 GB/s\n"
            "\n"
            "all_reduce nccl, 16 ranks on 2 nodes, 1 GiB, order topology, on b[1-2] with NVIDIA "
            "H100: busbw\n"
            "  2026-11-21T10:00Z      50.00 GB/s\n"
            "\n"
            "all_reduce tcp, 16 ranks on 2 nodes, 1 GiB, order topology, on a[1-2]: busbw\n"
            "  2026-11-23T11:00Z       1.00 GB/s\n"
            "\n"
            "all_reduce tcp, 16 ranks on 2 nodes, 1 GiB, order topology, on n[0-31] and 8 more: "
            "busbw\n"
            "  2026-11-24T10:00Z      10.00 GB/s\n"
            "\n"
            "all_reduce tcp, 16 ranks on 2 nodes, 1 GiB, order topology, on n[0-31] and 8 more: "
            "busbw\n"
            "  2026-11-25T10:00Z      20.00 GB/s\n");
}

TEST(History, TimesOfOneMinuteHaveSeconds) {
  const Kind kinds[] = {
      {"k", {{"2026-11-21T10:00:05Z", 0, 7, {}}, {"2026-11-21T10:00:09Z", 0.1, 7, {}}}},
      {"sparse", {{"2026-11-21T12:00:00Z", 0.2, 7, {}}}}};
  EXPECT_EQ(history_text(kinds, 2),
            "k: busbw\n"
            "  2026-11-21T10:00:05Z       7.00 GB/s\n"
            "  2026-11-21T10:00:09Z       7.00 GB/s\n"
            "\nsparse: busbw\n"
            "  2026-11-21T12:00:00Z       7.00 GB/s\n");
}

TEST(History, OfNothing) {
  EXPECT_TRUE(kinds_of({}).empty());
  EXPECT_TRUE(read_history("", "bench.jsonl").reports.empty());
}

}  // namespace
}  // namespace toprun::bench
