#include "bench/live_table.h"

#include <gtest/gtest.h>

#include "bench/figures.h"

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
  EXPECT_EQ(live_heading(series) + live_row(series, row_of(series, 1024, 12.345, 0)) +
                live_row(series, row_of(series, 4'000'000'000, 46960, {})) +
                live_row(series, row_of(series, 1 << 20, 2.5e6, 17)) + live_row(series, {}),
            "all_reduce over nccl over rdma, 8 ranks on 2 nodes, order topology\n"
            "     size         time     algbw     busbw   wire   wrong\n"
            "                            GB/s      GB/s               \n"
            "    1 KiB     12.35 µs    0.0829     0.145    0 %       0\n"
            " 3.73 GiB     46.96 ms     85.18    149.06   85 %       -\n"
            "    1 MiB       2.50 s    0.0004    0.0007    0 %      17\n"
            "      0 B            -         -         -      -       -\n");
}

TEST(LiveTable, WithoutANetwork) {
  Series series;
  series.ranks = 1;
  Row row = row_of(series, 8, 1, 2);
  row.in_place = row.out_of_place;
  EXPECT_EQ(live_heading(series).substr(0, 33), "all_reduce, 1 rank on 1 node\n    ");
  EXPECT_EQ(live_row(series, row), "      8 B      1.00 µs    0.0080      0.00      -       4\n");
}

TEST(LiveTable, SizeText) {
  const std::pair<std::uint64_t, std::string> rows[] = {{0, "0 B"},
                                                        {1023, "1023 B"},
                                                        {1024, "1 KiB"},
                                                        {1536, "1.50 KiB"},
                                                        {10 << 20, "10 MiB"},
                                                        {12'900'000, "12.3 MiB"},
                                                        {1ull << 50, "1 PiB"},
                                                        {1ull << 63, "8192 PiB"}};
  for (const auto& [bytes, text] : rows) EXPECT_EQ(size_text(bytes), text);
}

}  // namespace
}  // namespace toprun::bench
