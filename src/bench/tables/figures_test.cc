#include "bench/tables/figures.h"

#include <gtest/gtest.h>

namespace toprun::bench {
namespace {

Side side(double algbw, double busbw) {
  Side result;
  result.algbw = algbw;
  result.busbw = busbw;
  return result;
}

Series all_reduce(std::size_t nodes, std::size_t ranks, double algbw_gbps) {
  Series series;
  series.nodes = nodes;
  series.ranks = ranks;
  Row row;
  row.bytes = 4'000'000'000;
  const double algbw = algbw_gbps / 8;
  row.out_of_place = side(algbw, algbw * bus_factor(Collective::all_reduce, ranks));
  series.rows.push_back(row);
  return series;
}

// Two published tables of 4 GB all-reduces, in Gbps with one decimal: 8 GPUs a node with and
// without RDMA, and 4 GPUs a node.
struct Published {
  std::size_t nodes, ranks;
  double algbw_gbps, busbw_gbps;
};
constexpr Published published[] = {
    {1, 2, 1687.1, 1687.1},  {1, 4, 1081.0, 1621.5},  {1, 8, 949.9, 1662.4},
    {2, 16, 65.2, 122.3},    {4, 32, 39.3, 76.2},     {2, 16, 15.5, 29.1},
    {4, 32, 15.6, 30.1},     {1, 4, 1674.7, 2512.1},  {2, 8, 681.2, 1192.2},
    {4, 16, 349.7, 655.7},   {8, 32, 339.8, 658.3},   {16, 64, 336.3, 662.0},
    {32, 128, 334.5, 663.8}, {64, 256, 331.5, 660.3}, {128, 512, 317.4, 633.6},
};

TEST(Figures, BusbwOfPublishedTables) {
  EXPECT_EQ(std::size(published), 15u);
  for (const Published& row : published) {
    const double factor = bus_factor(Collective::all_reduce, row.ranks);
    // algbw is off by at most 0.05, which the factor enlarges, and busbw by another 0.05.
    EXPECT_NEAR(row.algbw_gbps * factor, row.busbw_gbps, 0.05 * factor + 0.05 + 1e-9) << row.ranks;
  }
}

TEST(Figures, BandwidthsFromTime) {
  const struct {
    Collective collective;
    std::uint64_t bytes;
    double mean_us;
    std::size_t ranks;
    double algbw, busbw;
  } rows[] = {
      {Collective::all_reduce, 4'000'000'000, 40000, 8, 100, 175},
      {Collective::all_gather, 8'000'000, 1000, 4, 8, 6},
      {Collective::broadcast, 8'000'000, 1000, 4, 8, 8},
      {Collective::barrier, 0, 10, 4, 0, 0},
      {Collective::all_reduce, 1000, 0, 4, 0, 0},
  };
  for (const auto& row : rows) {
    Side measured;
    measured.times.mean_us = row.mean_us;
    set_bandwidths(measured, row.collective, row.bytes, row.ranks);
    EXPECT_DOUBLE_EQ(measured.algbw, row.algbw);
    EXPECT_DOUBLE_EQ(measured.busbw, row.busbw);
  }
}

TEST(Figures, WireFloorOfPublishedTables) {
  const struct {
    std::size_t nodes, ranks;
    double algbw_gbps, floor;
  } rows[] = {
      {2, 8, 681.2, 85.2 * 8}, {4, 16, 349.7, 65.6 * 8}, {128, 512, 317.4, 78.7 * 8},
      {2, 16, 65.2, 65},       {4, 32, 39.3, 59},        {2, 16, 15.5, 15.5},
      {4, 32, 15.6, 23},
  };
  for (const auto& row : rows) {
    const double floor = wire_floor(Collective::all_reduce, row.algbw_gbps, row.nodes, row.ranks);
    EXPECT_NEAR(floor, row.floor, 0.5) << row.nodes;
    const auto n = static_cast<double>(row.ranks);
    const auto k = static_cast<double>(row.nodes);
    const double busbw = row.algbw_gbps * bus_factor(Collective::all_reduce, row.ranks);
    EXPECT_NEAR(floor, busbw * (k - 1) / (n - 1) * n / k, 1e-9);
  }
}

TEST(Figures, WireFloorOfEachCollective) {
  const struct {
    Collective collective;
    double floor;  // of algbw 80 on 4 nodes of 8 ranks
  } rows[] = {
      {Collective::all_reduce, 120}, {Collective::all_gather, 60}, {Collective::reduce_scatter, 60},
      {Collective::broadcast, 80},   {Collective::reduce, 80},     {Collective::alltoall, 480},
      {Collective::sendrecv, 80},    {Collective::gather, 60},     {Collective::scatter, 60},
      {Collective::barrier, 0},
  };
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(wire_floor(row.collective, 80, 4, 32), row.floor)
        << facts_of(row.collective).name;
    EXPECT_DOUBLE_EQ(wire_floor(row.collective, 80, 1, 8), 0);
    EXPECT_DOUBLE_EQ(wire_floor(row.collective, 80, 0, 0), 0);
  }
}

TEST(Figures, WireShare) {
  Series series = all_reduce(2, 8, 681.2);
  const Side measured = *side_of(series.rows[0]);
  EXPECT_FALSE(wire_share(series, measured));
  series.line_gbps = 800;
  EXPECT_NEAR(*wire_share(series, measured), 0.85, 0.002);
  series.nodes = 1;
  EXPECT_FALSE(wire_share(series, measured));
}

TEST(Figures, PlateauIsTheLargestSize) {
  const struct {
    std::vector<double> busbw;  // of 1, 2, 3 … bytes; below 0: not measured
    double plateau;
    std::uint64_t bytes, from_bytes;
    bool is_level;
  } rows[] = {
      {{10, 50, 97, 99, 100}, 100, 5, 3, true},
      {{10, 50, 120, 100}, 100, 4, 4, false},
      {{100, 50, 98, 100}, 100, 4, 3, true},
      {{99, 100, -1}, 100, 2, 1, true},
      {{7}, 7, 1, 1, false},
  };
  for (const auto& row : rows) {
    Series series;
    for (std::size_t i = 0; i < row.busbw.size(); ++i) {
      Row& added = series.rows.emplace_back();
      added.bytes = i + 1;
      if (row.busbw[i] >= 0) added.in_place = side(1, row.busbw[i]);
    }
    const auto plateau = plateau_of(series);
    ASSERT_TRUE(plateau);
    EXPECT_DOUBLE_EQ(side_of(plateau->row)->busbw, row.plateau);
    EXPECT_EQ(plateau->row.bytes, row.bytes);
    EXPECT_EQ(plateau->from_bytes, row.from_bytes);
    EXPECT_EQ(plateau->is_level, row.is_level);
  }
  EXPECT_FALSE(plateau_of({}));
}

TEST(Figures, Remarks) {
  const struct {
    std::size_t nodes, ranks;
    double algbw_gbps;
    std::optional<double> line_gbps, limit_gbps;
    std::vector<std::string> expected;
  } rows[] = {
      {1, 2, 1687.1, {}, {}, {"with 2 ranks busbw equals algbw: the factor 2(n-1)/n is 1"}},
      {1, 1, 10, {}, {}, {"with 1 rank no data moves between ranks, so there is no busbw"}},
      {2,
       8,
       681.2,
       800,
       {},
       {"busbw 149.01 GB/s is above the line rate, 100.00 GB/s (800 Gbps): between two nodes a "
        "tree sends each byte once, so compare algbw with the line rate: 85.15 GB/s, 85 %"}},
      {2, 8, 681.2, {}, {}, {}},
      {2,
       8,
       900,
       800,
       {},
       {"each node's network would have to carry 112.50 GB/s, more than its 100.00 GB/s (800 "
        "Gbps): the line rate or the number of nodes is wrong, or the network itself computes "
        "the reduction (SHARP)"}},
      {4,
       16,
       500,
       800,
       {},
       {"busbw 117.19 GB/s is above the line rate, 100.00 GB/s (800 Gbps): busbw assumes one ring "
        "over all ranks, but the library used another algorithm; the network carried at least "
        "93.75 GB/s"}},
      {1,
       8,
       2204.6,
       {},
       3600,
       {"busbw 482.26 GB/s is above the node's bus, 450.00 GB/s: the node's switches compute the "
        "reduction (NVLS), so fewer bytes move than busbw assumes"}},
      {4,
       32,
       39.3,
       100,
       {},
       {"9.52 GB/s between nodes: a model that is sharded across nodes (FSDP, ZeRO-3) needs about "
        "50 GB/s; shard the model inside a node and replicate it across nodes (HYBRID_SHARD)"}},
      {4, 16, 349.7, 800, {}, {}},
  };
  for (const auto& row : rows) {
    Series series = all_reduce(row.nodes, row.ranks, row.algbw_gbps);
    series.line_gbps = row.line_gbps;
    series.limit_gbps = row.limit_gbps;
    EXPECT_EQ(remarks(series), row.expected);
  }
  EXPECT_TRUE(remarks(all_reduce(4, 32, 39.3), 50).empty());
  Series small = all_reduce(4, 32, 39.3);
  small.rows[0].bytes = smallest_advised - 1;
  EXPECT_TRUE(remarks(small).empty()) << "a small message is slow on any network";
  EXPECT_TRUE(remarks({}).empty());
}

}  // namespace
}  // namespace toprun::bench
