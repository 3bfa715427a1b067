#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "node/plan/arrange.h"

namespace toprun::plan {
namespace {

using Indexes = std::vector<std::size_t>;

run::Arrange three_of_five(std::size_t staying) {
  run::Arrange request{.seats = 3, .staying = staying};
  for (int node = 0; node < 5; ++node) {
    model::Join join;
    join.host = fmt::format("n{}", node);
    join.node_index = node;
    request.members.push_back(join);
  }
  return request;
}

// n0 and n3 in one rack, n1, n2 and n4 in another.
topology::Map two_racks() {
  topology::Map map;
  map.source = "test";
  map.levels = {"rack"};
  for (const auto& [name, rack] : std::vector<std::pair<std::string, std::string>>{
           {"n0", "a"}, {"n3", "a"}, {"n1", "b"}, {"n2", "b"}, {"n4", "b"}}) {
    map.hosts.push_back({name, {{rack}, "here", {}}});
  }
  return map;
}

TEST(SpareMembers, AreThoseWithoutWhichTheOthersAreClosest) {
  EXPECT_EQ(spare_members(three_of_five(0), {}, two_racks()), (Indexes{0, 3}));
  EXPECT_EQ(spare_members(three_of_five(1), {}, two_racks()), (Indexes{2, 4})) << "n0 stays";
}

TEST(SpareMembers, AreTheLastOnesWhereNothingTellsTheirPlaces) {
  run::Arrange request = three_of_five(1);
  std::swap(request.members[1], request.members[4]);
  EXPECT_EQ(spare_members(request, {}, {}), (Indexes{1, 3}));
  Options by_name;
  by_name.order = Order::name;
  EXPECT_EQ(spare_members(request, by_name, two_racks()), (Indexes{1, 3}));
}

TEST(SpareMembers, AreThoseThatAnOrderFileLeavesOut) {
  const TemporaryFolder folder;
  Options options;
  options.order = Order::file;
  options.order_file = folder.path() / "order";
  std::ofstream(options.order_file) << "n4\nn0\nn2\n";
  EXPECT_EQ(spare_members(three_of_five(0), options, {}), (Indexes{1, 3}));
}

TEST(SpareMembers, AreNoneWhereAllAreNeeded) {
  run::Arrange request = three_of_five(0);
  request.seats = 5;
  EXPECT_EQ(spare_members(request, {}, two_racks()), Indexes());
}

}  // namespace
}  // namespace toprun::plan
