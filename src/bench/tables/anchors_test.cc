#include <gtest/gtest.h>

#include "bench/tables/compare.h"
#include "bench/tables/figures.h"

namespace toprun::bench {
namespace {

Report report_of(const std::string& gpu, std::size_t nodes, std::size_t per_node, double busbw) {
  Report report;
  Series& series = report.series.emplace_back();
  series.backend = "nccl";
  series.nodes = nodes;
  series.ranks = nodes * per_node;
  Row& row = series.rows.emplace_back();
  row.bytes = smallest_anchored;
  row.out_of_place.emplace().busbw = busbw;
  for (std::size_t rank = 0; rank < series.ranks; ++rank) {
    report.devices.push_back({rank, "n0", 1, 0, gpu});
  }
  return report;
}

double low_of(const std::string& gpu, std::size_t nodes, std::size_t per_node) {
  const Report report = report_of(gpu, nodes, per_node, 1);
  const Anchor* const anchor = anchor_of(report, report.series.front());
  return anchor != nullptr ? anchor->low : 0;
}

TEST(Anchors, AreFoundByTheDriversNameAndTheShape) {
  EXPECT_EQ(low_of("NVIDIA H100 80GB HBM3", 1, 8), 366);
  EXPECT_EQ(low_of("NVIDIA H200", 1, 8), 366);
  EXPECT_EQ(low_of("NVIDIA H100 80GB HBM3", 8, 8), 373);
  EXPECT_EQ(low_of("NVIDIA H100 80GB HBM3", 8, 4), 79);
  EXPECT_EQ(low_of("NVIDIA A100-SXM4-80GB", 2, 8), 192);
  EXPECT_EQ(low_of("NVIDIA GH200 120GB", 2, 4), 123);
  EXPECT_EQ(low_of("NVIDIA GB200", 18, 4), 847);
}

TEST(Anchors, AreNotGuessed) {
  EXPECT_EQ(low_of("NVIDIA H100 PCIe", 1, 8), 0);
  EXPECT_EQ(low_of("NVIDIA H100 NVL", 1, 8), 0);
  EXPECT_EQ(low_of("NVIDIA GH200 120GB", 1, 8), 0);  // no H200
  EXPECT_EQ(low_of("NVIDIA H100 80GB HBM3", 1, 4), 0);
  EXPECT_EQ(low_of("cpu", 1, 8), 0);
  Report mixed = report_of("NVIDIA H100 80GB HBM3", 1, 8, 1);
  mixed.devices[3].name = "NVIDIA H200";
  EXPECT_EQ(anchor_of(mixed, mixed.series.front()), nullptr);
  mixed.devices[3].name = mixed.devices[0].name;
  mixed.series[0].collective = Collective::alltoall;
  EXPECT_EQ(anchor_of(mixed, mixed.series.front()), nullptr);
}

TEST(Anchors, AreWhatUsualMeans) {
  const Expectation usual{std::nullopt, 0.9};
  EXPECT_FALSE(gate(report_of("NVIDIA H200", 1, 8, 329), usual).is_passed);
  EXPECT_TRUE(gate(report_of("NVIDIA H200", 1, 8, 330), usual).is_passed);
  EXPECT_FALSE(gate(report_of("NVIDIA L4", 1, 8, 330), usual).is_passed);
}

TEST(Anchors, TellTheirSource) {
  const Report report = report_of("NVIDIA H200", 1, 8, 1);
  EXPECT_EQ(anchor_sentence(*anchor_of(report, report.series[0]), report.series[0]),
            "366 to 482 GB/s is usual for 8 × H200 on 1 node (NVLink, the upper end with NVLS; "
            "nccl-tests#212, ml-engineering)");
}

}  // namespace
}  // namespace toprun::bench
