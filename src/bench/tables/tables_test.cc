#include "bench/tables/tables.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/tables/figures.h"

namespace toprun::bench {
namespace {

Series series_of(std::string fabric, std::size_t nodes, std::size_t ranks, double algbw_gbps) {
  Series series;
  series.fabric = std::move(fabric);
  series.nodes = nodes;
  series.ranks = ranks;
  Row& row = series.rows.emplace_back();
  row.bytes = 4'000'000'000;
  row.out_of_place.emplace();
  row.out_of_place->algbw = algbw_gbps / 8;
  row.out_of_place->busbw = algbw_gbps / 8 * bus_factor(Collective::all_reduce, ranks);
  return series;
}

TEST(Markdown, FabricsSideBySide) {
  Report rdma;
  Report tcp;
  for (const auto& [nodes, ranks, algbw] :
       std::vector<std::tuple<std::size_t, std::size_t, double>>{
           {1, 8, 949.9}, {2, 16, 65.2}, {4, 32, 39.3}}) {
    rdma.series.push_back(series_of("rdma", nodes, ranks, algbw));
  }
  tcp.series = {series_of("tcp", 4, 32, 15.6), series_of("tcp", 2, 16, 15.5)};
  EXPECT_EQ(markdown(std::vector{rdma, tcp}),
            "all_reduce of 3.73 GiB, GB/s\n"
            "\n"
            "| Nodes | Ranks | rdma busbw | rdma algbw | tcp busbw | tcp algbw |\n"
            "|------:|------:|------:|------:|------:|------:|\n"
            "| 1 | 8 | 207.79 | 118.74 | - | - |\n"
            "| 2 | 16 | 15.28 | 8.15 | 3.63 | 1.94 |\n"
            "| 4 | 32 | 9.52 | 4.91 | 3.78 | 1.95 |\n");
}

TEST(Markdown, OneKindHasPlainHeadings) {
  Report report;
  report.series = {series_of("", 0, 4, 100), series_of("", 0, 4, 1674.7), {}};
  EXPECT_EQ(markdown(std::span(&report, 1)),
            "all_reduce of 3.73 GiB, GB/s\n"
            "\n"
            "| Nodes | Ranks | busbw | algbw |\n"
            "|------:|------:|------:|------:|\n"
            "| - | 4 | 314.01 | 209.34 |\n");
}

TEST(Markdown, TheTitleNamesTheBackend) {
  Report report;
  report.series = {series_of("", 1, 4, 8)};
  report.series[0].backend = "gloo";
  EXPECT_TRUE(markdown(std::span(&report, 1)).starts_with("all_reduce of 3.73 GiB over gloo, GB/s"))
      << markdown(std::span(&report, 1));
}

TEST(Markdown, ABarrierHasNoRates) {
  Report report;
  report.series = {series_of("", 1, 4, 8)};
  Series& barrier = report.series[0];
  barrier.collective = Collective::barrier;
  barrier.rows[0].bytes = 0;
  barrier.rows[0].out_of_place->algbw = barrier.rows[0].out_of_place->busbw = 0;
  EXPECT_TRUE(markdown(std::span(&report, 1)).ends_with("| 1 | 4 | - | - |\n"))
      << markdown(std::span(&report, 1));
}

TEST(Markdown, SizesThatDifferHaveAColumn) {
  Report report;
  report.series = {series_of("", 1, 4, 8), series_of("", 2, 8, 0.04)};
  report.series[1].rows[0].bytes = 1 << 20;
  EXPECT_EQ(markdown(std::span(&report, 1)),
            "all_reduce, GB/s\n"
            "\n"
            "| Nodes | Ranks | Size | busbw | algbw |\n"
            "|------:|------:|------:|------:|------:|\n"
            "| 1 | 4 | 3.73 GiB | 1.50 | 1.00 |\n"
            "| 2 | 8 | 1 MiB | 0.0088 | 0.0050 |\n");
}

void add_row(Series& series, std::uint64_t bytes, double busbw_gbps) {
  Row row = series.rows.front();
  row.bytes = bytes;
  row.out_of_place->busbw = row.out_of_place->algbw = busbw_gbps / 8;
  series.rows.insert(series.rows.begin(), row);
}

TEST(Markdown, ASweepHasARowForEachSize) {
  Report report;
  report.series = {series_of("rdma", 2, 2, 80), series_of("tcp", 2, 2, 8)};
  add_row(report.series[0], 1 << 20, 40);
  add_row(report.series[0], 8, 0.5);
  add_row(report.series[1], 1 << 20, 4);
  EXPECT_EQ(markdown(std::span(&report, 1)),
            "all_reduce, GB/s\n"
            "\n"
            "| Nodes | Ranks | Size | rdma busbw | rdma algbw | tcp busbw | tcp algbw |\n"
            "|------:|------:|------:|------:|------:|------:|------:|\n"
            "| 2 | 2 | 8 B | 0.0625 | 0.0625 | - | - |\n"
            "| 2 | 2 | 1 MiB | 5.00 | 5.00 | 0.500 | 0.500 |\n"
            "| 2 | 2 | 3.73 GiB | 10.00 | 10.00 | 1.00 | 1.00 |\n");
}

TEST(Markdown, OneRankHasNoBusbw) {
  Report report;
  report.series = {series_of("", 1, 1, 8)};
  report.series.front().rows.front().out_of_place->busbw = 0;
  EXPECT_TRUE(markdown(std::span(&report, 1)).ends_with("| 1 | 1 | - | 1.00 |\n"))
      << markdown(std::span(&report, 1));
}

TEST(Markdown, SeveralNumbersOfNodesHaveTheirLargestSize) {
  Report report;
  report.series = {series_of("", 1, 4, 8), series_of("", 2, 8, 4)};
  for (Series& series : report.series) add_row(series, 1 << 20, 1);
  const std::string text = markdown(std::span(&report, 1));
  EXPECT_TRUE(text.starts_with("all_reduce of 3.73 GiB, GB/s\n")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 6) << text;
}

TEST(Markdown, NamesStayInTheirCell) {
  Report report;
  report.series = {series_of("a|b\n", 1, 2, 8), series_of("", 1, 2, 8)};
  report.series[1].collective = Collective::all_reduce;
  const std::string text = markdown(std::span(&report, 1));
  EXPECT_NE(text.find("| a\\|b\\n busbw |"), std::string::npos) << text;
  EXPECT_NE(text.find("| unknown busbw |"), std::string::npos) << text;
}

TEST(Csv, LinePerPlacement) {
  Report report;
  report.series = {series_of("tcp, 10G \"old\"", 2, 16, 80)};
  Row& row = report.series[0].rows[0];
  row.count = 1'000'000'000;
  row.redop = "sum";
  row.out_of_place->times = {10, 9, 10, 12, 0.1, 20};
  row.out_of_place->wrong = 0;
  row.in_place = row.out_of_place;
  row.in_place->times = {11, 0, 0, 0, 0, 0};
  row.in_place->wrong.reset();
  const std::string text = csv(std::span(&report, 1));
  const std::string start =
      "all_reduce,,,\"tcp, 10G \"\"old\"\"\",2,16,4000000000,1000000000,float,sum,-1,";
  EXPECT_EQ(text.substr(text.find('\n') + 1), start +
                                                  "out_of_place,20,10,9,10,12,0.1,10,18.75,80,0\n" +
                                                  start + "in_place,,11,,,,,10,18.75,80,\n");
  EXPECT_EQ(std::ranges::count(text.substr(0, text.find('\n')), ','), 21);
}

}  // namespace
}  // namespace toprun::bench
