#include "node/store/arrivals.h"

#include <gtest/gtest.h>

namespace toprun::store {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime start{1h};

// As PyTorch 1.13 and 2.13 were seen to write them.
TEST(Arrivals, KeysOfProcessGroups) {
  struct Case {
    std::string_view key;
    bool of_a_group;
    std::optional<int> rank;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"/default_pg/0//cpu//0/3", true, 3},
           {"//worker/attempt_0/default_pg/0/0/rank_12", true, 12},
           {"//worker/attempt_0/default_pg/0/0/7", true, 7},
           {"/default_pg/0//cuda//0", true, std::nullopt},    // NCCL's id
           {"/default_pg/0//cuda//0:1", true, std::nullopt},  // … for two ranks
           {"/default_pg/0//cuda//UniqueNCCLID:3", true, std::nullopt},
           {"/default_pg/0//1//cpu//0/1", true, std::nullopt},  // another group's ranks
           {"//worker/attempt_0/default_pg/1/0/rank_1", true, std::nullopt},
           {"/default_pg/0//cpu//0/-1", true, std::nullopt},
           {"/default_pg/0//cpu//0/99999999999", true, std::nullopt},
           {"/default_pg/0//cpu", true, std::nullopt},
           {"/default_pg/0/", true, std::nullopt},
           {"/default_pg/mine", false, std::nullopt},
           {"/default_pg/", false, std::nullopt},
           {"init/", false, std::nullopt},
           {"/exception_dump", false, std::nullopt},
           {"", false, std::nullopt}}) {
    EXPECT_EQ(is_of_a_process_group(one.key), one.of_a_group) << one.key;
    EXPECT_EQ(rank_named_by(one.key), one.rank) << one.key;
  }
  EXPECT_FALSE(is_of_a_process_group(std::string(1000, 'x') + "/default_pg/0//cpu//0/3"));
}

TEST(Arrivals, AProcessCountsOnce) {
  Arrivals arrivals(3);
  EXPECT_EQ(arrivals.joined("", 7, start), 0u);
  EXPECT_EQ(arrivals.joined("", 7, start + 1s), std::nullopt) << "its second store";
  EXPECT_EQ(arrivals.joined("10.0.0.2", 7, start + 2s), 1u) << "another host's";
  EXPECT_FALSE(arrivals.all_joined());
  EXPECT_EQ(arrivals.joined("", 8, start + 3s), 2u);
  EXPECT_TRUE(arrivals.all_joined());
  EXPECT_EQ(arrivals.joined("", 9, start + 4s), std::nullopt) << "more than there are ranks";
  EXPECT_EQ(arrivals.ranks().size(), 3u);
  EXPECT_EQ(arrivals.ranks()[1].joined, start + 2s);
}

TEST(Arrivals, WithoutPidsEveryConnectionCounts) {
  Arrivals arrivals(2);
  arrivals.joined("", 0, start);
  arrivals.joined("", 0, start);
  EXPECT_TRUE(arrivals.all_joined());
}

TEST(Arrivals, AllHaveMetWhenTheLastHas) {
  Arrivals arrivals(2);
  arrivals.joined("", 1, start);
  arrivals.met(0, 5, start + 1s);
  arrivals.met(0, std::nullopt, start + 2s);
  EXPECT_FALSE(arrivals.all_met());
  arrivals.joined("", 2, start + 3s);
  arrivals.met(1, std::nullopt, start + 4s);
  EXPECT_TRUE(arrivals.all_met());
  EXPECT_EQ(arrivals.ranks()[0].met, start + 1s);
  EXPECT_EQ(arrivals.ranks()[0].rank, 5);
}

TEST(Arrivals, NobodyIsExpected) {
  Arrivals arrivals;
  EXPECT_FALSE(arrivals.joined("", 1, start));
  EXPECT_FALSE(arrivals.all_joined());
  EXPECT_FALSE(arrivals.all_met());
}

}  // namespace
}  // namespace toprun::store
