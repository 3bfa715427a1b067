#include "bench/measure/request.h"

#include <gtest/gtest.h>

#include <limits>

namespace toprun::measure {
namespace {

using Sizes = std::vector<std::uint64_t>;

Request range(std::uint64_t least, std::uint64_t most, std::uint64_t step,
              std::optional<double> factor = {}) {
  Request request;
  request.min_bytes = least;
  request.max_bytes = most;
  request.step_bytes = step;
  request.factor = factor;
  return request;
}

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(Sizes, GrowByAStepOrAFactor) {
  const struct {
    Request request;
    Sizes expected;
  } rows[] = {
      {range(8, 8, 1), {8}},
      {range(8, 8, 0), {8}},
      {range(0, 3, 1), {0, 1, 2, 3}},
      {range(10, 35, 10), {10, 20, 30}},
      {range(8, 64, 1, 2), {8, 16, 32, 64}},
      {range(8, 100, 1, 2.5), {8, 20, 50}},
      {range(1, 4, 1, 1.01), {1, 2, 3, 4}},  // at least by one
      {range(largest - 1, largest, 1000), {largest - 1}},
      {range(1, largest, largest / 2 + 1), {1, largest / 2 + 2}},
  };
  for (const auto& row : rows) {
    const auto found = sizes(row.request);
    ASSERT_TRUE(found) << found.error().line();
    EXPECT_EQ(*found, row.expected);
  }
}

TEST(Sizes, RefuseWhatIsNoRange) {
  const struct {
    Request request;
    std::string_view reason;
  } rows[] = {
      {range(9, 8, 1), "the smallest size is larger than the largest"},
      {range(8, 16, 0), "--stepbytes 0"},
      {range(8, 16, 1, 1), "the factor must be larger than 1"},
      {range(8, 16, 1, 0.5), "the factor must be larger than 1"},
      {range(1, largest, 1), "more than 1000 sizes"},
      {range(1, 2000, 1, 1.0000001), "more than 1000 sizes"},
  };
  for (const auto& row : rows) {
    const auto found = sizes(row.request);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().line().find(row.reason), std::string::npos) << found.error().line();
  }
}

}  // namespace
}  // namespace toprun::measure
