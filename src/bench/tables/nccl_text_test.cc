#include <gtest/gtest.h>

#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

Side side_of(double time, double algbw, double busbw, std::optional<std::uint64_t> wrong) {
  Side result;
  result.times.mean_us = time;
  result.algbw = algbw;
  result.busbw = busbw;
  result.wrong = wrong;
  return result;
}

TEST(NcclText, Rows) {
  const struct {
    Row row;
    std::string expected;
  } rows[] = {
      {{8, 2, "float", "sum", -1, side_of(34.27, 0, 0.004, 0), side_of(33.5, 0, 0, 0)},
       "           8             2     float     sum      -1    34.27    0.00    0.00       0"
       "    33.50    0.00    0.00       0\n"},
      {{8589934592, 268435456, "float", "none", -1, side_of(33646.4, 255.31, 223.39, {}),
        side_of(9999.5, 9999.5, 99999.5, 12)},
       "  8589934592     268435456     float    none      -1  33646.4  255.31  223.39    N/A"
       "  9999.50  9999.5  100000      12\n"},
      {{1, 1, "bfloat16", "sum", 0, {}, side_of(1234567, 1e7, 0, 1234567)},
       "           1             1  bfloat16     sum       0                                "
       "  1234567   1e+07    0.00  1.23457e+06\n"},
      {{1, 1, "int8", "max", 0, side_of(123456.7, 0, 0, {}), {}},
       "           1             1      int8     max       0   123457    0.00    0.00    N/A\n"},
      {{1, 1, "int8", "max", 0, side_of(123456789, 0, 0, {}), {}},
       "           1             1      int8     max       0  1.2e+08    0.00    0.00    N/A\n"},
  };
  for (const auto& row : rows) EXPECT_EQ(nccl_row(row.row), row.expected);
}

TEST(NcclText, Report) {
  Report report;
  report.version = "toprun 0.1.0";
  report.library = "NCCL 2.30.7";
  report.devices = {{0, "n1", 4711, 0, "NVIDIA H100"}, {12, "n\n2", 4712, 4, "cpu"}};
  Series& series = report.series.emplace_back();
  series.rows.push_back({8, 2, "float", "sum", -1, side_of(10, 1, 2, 0), side_of(10, 2, 5, 3)});
  EXPECT_EQ(nccl_text(report),
            "# toprun 0.1.0, NCCL 2.30.7\n"
            "# Collective test starting: all_reduce_perf\n"
            "#\n"
            "# Using devices\n"
            "#  Rank  0 Group  0 Pid   4711 on         n1 device  0 NVIDIA H100\n"
            "#  Rank 12 Group  0 Pid   4712 on       n\\n2 device  4 cpu\n"
            "#\n"
            "#                                                              out-of-place"
            "                       in-place          \n"
            "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
            "     time   algbw   busbw  #wrong \n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
            "     (us)  (GB/s)  (GB/s)         \n"
            "           8             2     float     sum      -1    10.00    1.00    2.00       0"
            "    10.00    2.00    5.00       3\n"
            "# Out of bounds values : 3 FAILED\n"
            "# Avg bus bandwidth    : 3.5 \n"
            "#\n"
            "# Collective test concluded: all_reduce_perf\n");
}

TEST(NcclText, FooterWithoutRows) {
  EXPECT_EQ(nccl_footer({}),
            "# Out of bounds values : 0 OK\n"
            "# Avg bus bandwidth    : 0 \n"
            "#\n"
            "# Collective test concluded: all_reduce_perf\n");
}

}  // namespace
}  // namespace toprun::bench
