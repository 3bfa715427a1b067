#include "bench/tables/live_table.h"

#include <gtest/gtest.h>

#include "bench/tables/figures.h"

namespace toprun::bench {
namespace {

Row row_of(const Series& series, std::uint64_t bytes, double mean_us,
           std::optional<std::uint64_t> wrong) {
  Row row;
  row.bytes = bytes;
  row.out_of_place.emplace();
  row.out_of_place->times.mean_us = mean_us;
  row.out_of_place->wrong = wrong;
  set_bandwidths(*row.out_of_place, series.collective, bytes, series.ranks);
  return row;
}

TEST(LiveTable, LinesFitTheHeading) {
  Series series;
  series.backend = "nccl";
  series.fabric = "rdma";
  series.order = "topology";
  series.ranks = 8;
  series.nodes = 2;
  series.line_gbps = 800;
  const TableColumns columns = columns_of(series);
  EXPECT_EQ(live_heading(series, columns) +
                live_row(series, row_of(series, 1024, 12.345, 0), columns) +
                live_row(series, row_of(series, 4'000'000'000, 46960, {}), columns) +
                live_row(series, row_of(series, 1 << 20, 2.5e6, 17), columns) +
                live_row(series, {}, columns),
            "all_reduce over nccl over rdma, 8 ranks on 2 nodes, order topology\n"
            "     size         time    algbw    busbw   wire   wrong\n"
            "                           GB/s     GB/s\n"
            "    1 KiB     12.35 µs   0.0829    0.145    0 %       0\n"
            " 3.73 GiB     46.96 ms    85.18   149.06   85 %       -\n"
            "    1 MiB       2.50 s   0.0004   0.0007    0 %      17\n"
            "      0 B            -        -        -      -       -\n");
}

TEST(LiveTable, WithoutANetwork) {
  Series series;
  series.ranks = 1;
  Row row = row_of(series, 8, 1, 2);
  row.in_place = row.out_of_place;
  EXPECT_EQ(live_heading(series).substr(0, 33), "all_reduce, 1 rank on 1 node\n    ");
  EXPECT_EQ(live_row(series, row), "      8 B      1.00 µs   0.0080        -       4\n");
}

TEST(LiveTable, BothPlacementsSideBySide) {
  Series series;
  series.ranks = 2;
  Row& row = series.rows.emplace_back(row_of(series, 1024, 10, 0));
  row.in_place = row.out_of_place;
  row.in_place->times.mean_us = 20;
  const TableColumns columns = columns_of(series);
  EXPECT_EQ(live_heading(series, columns) + live_row(series, row, columns) +
                live_row(series, row_of(series, 2048, 10, 0), columns),
            "all_reduce, 2 ranks on 1 node\n"
            "                            out of place                       in place\n"
            "     size         time    algbw    busbw         time    algbw    busbw   wrong\n"
            "                           GB/s     GB/s                  GB/s     GB/s\n"
            "    1 KiB     10.00 µs    0.102    0.102     20.00 µs    0.102    0.102       0\n"
            "    2 KiB     10.00 µs    0.205    0.205            -        -        -       0\n");
}

}  // namespace
}  // namespace toprun::bench
