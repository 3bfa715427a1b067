#include <gtest/gtest.h>

#include <limits>

#include "bench/tables/measurement.h"

namespace toprun::bench {
namespace {

TEST(Collective, EachIsFoundByItsName) {
  EXPECT_EQ(collectives().size(), 10u);
  for (const CollectiveFacts& facts : collectives()) {
    EXPECT_EQ(find_collective(facts.name), facts.collective);
    EXPECT_EQ(facts_of(facts.collective).name, facts.name);
  }
  EXPECT_FALSE(find_collective("allreduce"));
  EXPECT_FALSE(find_collective(""));
}

TEST(Collective, BusFactor) {
  const struct {
    Collective collective;
    double one, two, eight;  // by the number of ranks
  } rows[] = {
      {Collective::all_reduce, 0, 1, 1.75}, {Collective::all_gather, 0, 0.5, 0.875},
      {Collective::broadcast, 1, 1, 1},     {Collective::reduce_scatter, 0, 0.5, 0.875},
      {Collective::reduce, 1, 1, 1},        {Collective::alltoall, 0, 0.5, 0.875},
      {Collective::sendrecv, 1, 1, 1},      {Collective::gather, 0, 0.5, 0.875},
      {Collective::scatter, 0, 0.5, 0.875}, {Collective::barrier, 0, 0, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(facts_of(row.collective).name);
    EXPECT_DOUBLE_EQ(bus_factor(row.collective, 1), row.one);
    EXPECT_DOUBLE_EQ(bus_factor(row.collective, 2), row.two);
    EXPECT_DOUBLE_EQ(bus_factor(row.collective, 8), row.eight);
    EXPECT_DOUBLE_EQ(bus_factor(row.collective, 0), 0);
  }
}

TEST(Collective, RoundedSize) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const struct {
    Collective collective;
    std::uint64_t bytes;
    std::size_t element_bytes, ranks;
    std::uint64_t expected;
  } rows[] = {
      {Collective::all_reduce, 1027, 4, 3, 1024},
      {Collective::all_reduce, 3, 4, 2, 0},
      {Collective::broadcast, 7, 2, 5, 6},
      {Collective::all_gather, 8u << 20, 4, 8, 8u << 20},
      {Collective::all_gather, 1000, 4, 3, 960},      // 83 floats a part, of which 80
      {Collective::all_gather, 127, 4, 8, 0},         // 3 floats a part: less than 16 bytes
      {Collective::reduce_scatter, 1000, 8, 3, 960},  // 41 doubles, of which 40
      {Collective::alltoall, 1000, 1, 3, 960},
      {Collective::alltoall, 1000, 16, 3, 960},
      {Collective::alltoall, 1000, 32, 3, 960},  // wider than the alignment: whole elements
      {Collective::gather, 1000, 4, 3, 960},
      {Collective::scatter, 11, 4, 3, 0},
      {Collective::barrier, 1024, 4, 2, 0},
      {Collective::all_reduce, most, 1, 1, most},
      {Collective::all_gather, 1024, 0, 2, 0},
      {Collective::all_gather, 1024, 4, 0, 0},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(rounded_size(row.collective, row.bytes, row.element_bytes, row.ranks), row.expected)
        << facts_of(row.collective).name << " " << row.bytes;
  }
}

}  // namespace
}  // namespace toprun::bench
