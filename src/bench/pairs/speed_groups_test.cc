#include <gtest/gtest.h>

#include "base/os/os_testing.h"
#include "bench/pairs/distances.h"
#include "bench/pairs/pair_verdict.h"
#include "bench/pairs/pairs_testing.h"

namespace toprun::pairs {
namespace {

// Racks that no source has named.
class Unnamed : public Simulation {
 public:
  Unnamed(std::size_t racks, std::size_t hosts, double oversubscription, unsigned seed)
      : Simulation(racks, hosts, oversubscription, 0.05, seed) {
    measured = first_pass();
  }
  void measure_anew() { measured = first_pass(); }
  std::vector<SpeedGroup> groups() const { return speed_groups(cluster.names.size(), measured); }
  // The nodes that are named if the groups are taken for racks.
  std::string findings() const {
    Cluster seen{cluster.names, places_of(cluster, groups()), {"group"}};
    if (groups().empty()) seen.places.clear();
    const auto verdict = judge(seen, measured);
    if (!verdict) return verdict.error().line();
    std::string out;
    for (const Finding& finding : verdict->findings) {
      for (const std::size_t node : finding.nodes) out += " " + cluster.names[node];
      for (const DomainPath& domain : finding.domains) out += " group " + domain.back();
    }
    return out;
  }

  std::vector<Measured> measured;
};

TEST(SpeedGroups, AreRacksBehindNarrowUplinks) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(tried(100)); ++seed) {
    Unnamed cluster(4, 16, 8, seed);
    ASSERT_EQ(cluster.groups().size(), 4u) << seed;
    EXPECT_EQ(cluster.groups()[1].nodes, (std::vector<std::size_t>{4, 5, 6, 7}));
    EXPECT_EQ(cluster.findings(), "") << seed;
  }
}

TEST(SpeedGroups, OfTwoRacksOfTwoNameNobody) {
  Unnamed cluster(2, 4, 100, 1);
  const auto groups = cluster.groups();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].nodes, (std::vector<std::size_t>{0, 1}));
  EXPECT_NEAR(groups[0].inside, Simulation::host_gbps, 20);
  EXPECT_LT(groups[0].outside, Simulation::host_gbps / 10);
  EXPECT_EQ(cluster.findings(), "");
}

TEST(SpeedGroups, LeaveASlowHostAlone) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(tried(100)); ++seed) {
    Unnamed cluster(4, 32, 2, seed);
    cluster.faults.sends[9] = cluster.faults.receives[9] = 0.05;
    cluster.measure_anew();
    EXPECT_EQ(cluster.groups().size(), 4u) << seed;
    EXPECT_EQ(cluster.findings(), " n9") << seed;
  }
}

TEST(SpeedGroups, AreNoneInAFlatNetwork) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(tried(100)); ++seed) {
    Unnamed flat(1, 16, 1, seed);
    EXPECT_TRUE(flat.groups().empty()) << seed;
    flat.faults.sends[3] = flat.faults.sends[4] = Simulation::bad_share;
    flat.measure_anew();
    EXPECT_TRUE(flat.groups().empty()) << "two slow hosts are no rack, " << seed;
    EXPECT_EQ(flat.findings(), " n3 n4") << seed;
  }
}

}  // namespace
}  // namespace toprun::pairs
