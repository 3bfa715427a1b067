#include <gtest/gtest.h>

#include "bench/pairs/tally.h"
#include "bench/tables/statistics.h"

namespace toprun::pairs {
namespace {

TEST(Statistics, Middles) {
  const struct {
    std::vector<double> values;
    double median, best_quarter, deviation_from_2;
  } rows[] = {
      {{3}, 3, 3, 1.4826},
      {{4, 1}, 2.5, 4, 1.5 * 1.4826},
      {{9, 1, 2}, 2, 9, 1.4826},
      {{1, 2, 3, 1000}, 2.5, 3, 1.4826},
  };
  for (const auto& [values, middle, quarter, spread] : rows) {
    EXPECT_DOUBLE_EQ(bench::median(values), middle);
    std::vector<double> copy = values;
    EXPECT_DOUBLE_EQ(bench::quantile(copy, 0.75), quarter);
    EXPECT_DOUBLE_EQ(bench::robust_deviation(values, 2), spread);
  }
}

// Racks of four; a pair across shares its uplinks with the others of its round.
TEST(Ratios, CompareWhatIsEquallyLoaded) {
  Cluster cluster;
  for (int i = 0; i < 16; ++i) {
    cluster.names.push_back("n" + std::to_string(i));
    cluster.places.push_back({"r" + std::to_string(i / 4)});
  }
  std::vector<Measured> measured;
  std::size_t number = 0;
  for (const Batch& batch : batches(cluster.places)) {
    for (const Round& round : batch.rounds) {
      for (const auto& [a, b] : round) {
        const double gbps = batch.shared == 1 ? 100 : 25;
        measured.push_back({a, b, number, gbps, gbps, 5, State::measured});
      }
      ++number;
    }
  }
  // Alone in their rounds, so that they have a whole uplink; fewer would have no usual pace.
  for (std::size_t a = 0; a < 4; ++a) {
    measured.push_back({a, a + 4, number++, 98, 49, 5, State::measured});
  }
  const Ratios all = ratios(Domains(cluster), measured, Figure::rate);
  ASSERT_EQ(all.all.size(), measured.size() * directions);
  for (std::size_t i = 0; i + 4 < measured.size(); ++i) {
    EXPECT_DOUBLE_EQ(all.all[2 * i].value, 1);
    EXPECT_DOUBLE_EQ(all.all[2 * i].expected, all.shared[i] == 1 ? 100 : 25);
  }
  EXPECT_DOUBLE_EQ(all.all[all.all.size() - 2].value, 1);
  EXPECT_DOUBLE_EQ(all.all.back().value, 0.5);
  EXPECT_DOUBLE_EQ(all.noise, 0);
}

TEST(Ratios, OfHungPairsAreZero) {
  const Cluster cluster{{"a", "b", "c", "d"}, {}, {}};
  std::vector<Measured> measured;
  for (const Round& round : tournament(4)) {
    for (const auto& [a, b] : round) measured.push_back({a, b, 0, 10, 10, 5, State::measured});
  }
  measured[0].state = State::hung;
  const Ratios all = ratios(Domains(cluster), measured, Figure::rate);
  EXPECT_EQ(all.all[0].value, 0);
  EXPECT_EQ(all.all[2].value, 1);
  measured.resize(2);
  EXPECT_EQ(ratios(Domains(cluster), measured, Figure::rate).all[2].value, -1);
}

}  // namespace
}  // namespace toprun::pairs
