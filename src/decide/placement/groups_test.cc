#include "decide/placement/groups.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace toprun::placement {
namespace {

// Two racks of three and five nodes, given alternately.
struct Job {
  std::vector<Host> hosts;
  topology::Map map{"test", {"core", "rack"}, {}, {}};

  explicit Job(const std::string& racks) {
    for (const char rack : racks) {
      hosts.push_back({fmt::format("n{}", hosts.size()), 8});
      map.hosts.push_back({hosts.back().name, {{"c", std::string(1, rack)}, "here", {}}});
    }
  }
};

Plan plan(const std::string& parallel) {
  return {*cost::parse_parallel(parallel), 70e9, {}, {}};
}

std::vector<std::string> warnings_of(const Job& job, const std::string& parallel) {
  const auto placement = place(job.hosts, job.map, {.plan = plan(parallel)});
  return placement ? placement->warnings : std::vector{placement.error().line()};
}

TEST(Groups, CountsThoseInMoreThanOneDomain) {
  const Job job("babababb");
  const auto prepared = *prepare(plan("tp=16"), job.map, std::vector<int>(8, 8));
  const auto given = score_groups(*place(job.hosts, job.map, {.order = Order::given}), prepared);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].kind, cost::Kind::tp);
  EXPECT_EQ(given[0].size, 16u);
  EXPECT_EQ(given[0].groups, 4u);
  EXPECT_EQ(given[0].nodes, 2u);
  EXPECT_EQ(given[0].spanning, (std::vector<std::size_t>{0, 3}));
  const auto placed = place(job.hosts, job.map, {.plan = plan("tp=16")});
  const auto ordered = score_groups(*placed, prepared);
  EXPECT_EQ(ordered[0].spanning, (std::vector<std::size_t>{0, 1}));
  EXPECT_NEAR(ordered[0].cost + ordered[1].cost, placed->mapping->cost, 1e-9);
  EXPECT_GT(given[0].cost, ordered[0].cost);
}

TEST(Groups, AnUnknownDomainIsOneOfItsOwn) {
  Job job("aaaa");
  job.map.hosts[3].location.path.set(1, std::nullopt);
  const auto prepared = *prepare(plan("tp=16"), job.map, std::vector<int>(4, 8));
  const auto scores = score_groups(*place(job.hosts, job.map), prepared);
  EXPECT_EQ(scores[0].spanning, (std::vector<std::size_t>{0, 1}));
}

TEST(Groups, SaysWhyTheyCannotStayInside) {
  const std::string tp =
      "tp groups of 16 are on 2 nodes, 1 of 4 in more than one rack: rack a has 3 nodes, which is "
      "not a multiple of 2";
  const auto uneven = warnings_of(Job("babababb"), "tp=16");
  ASSERT_EQ(uneven.size(), 2u);
  EXPECT_EQ(uneven[0], tp);
  EXPECT_EQ(uneven[1],
            "dp groups of 4 are on 4 nodes, 16 of 16 in more than one rack: rack a has 3 "
            "nodes, which is not a multiple of 4");
  const auto large = warnings_of(Job("aabbccdd"), "tp=32");
  ASSERT_EQ(large.size(), 1u);
  EXPECT_EQ(large[0],
            "tp groups of 32 are on 4 nodes, 2 of 2 in more than one rack: no rack has "
            "more than 2 nodes");
  EXPECT_TRUE(warnings_of(Job("aaaabbbb"), "tp=16,pp=2").empty());
}

TEST(Groups, SaysWhatIsAssumedAndWhatCannotBe) {
  Job job("ab");
  const Plan assumed{*cost::parse_parallel("tp=8"), {}, {}, {}};
  EXPECT_EQ(place(job.hosts, job.map, {.plan = assumed})->warnings.front(),
            "--parallel: toprun assumed the traffic of a model with 70B parameters; set the "
            "traffic with --model or --traffic");
  job.hosts[1].nproc = 16;
  EXPECT_EQ(warnings_of(job, "tp=8").front(),
            "the nodes run different numbers of processes: only nodes with the same number of "
            "processes can swap positions");
  EXPECT_EQ(place(job.hosts, job.map, {.segment = 2, .plan = assumed}).error().line(),
            "--segment and --parallel: both decide which nodes are neighbours; leave one of "
            "them out");
  job.hosts = {{"n0", 0}};
  EXPECT_EQ(warnings_of(job, "tp=1").front(),
            "--parallel: the job has 0 ranks, but a plan can have only 1 to 10000000 ranks");
}

TEST(Groups, TooManyPairsLeaveTheOrder) {
  const Job job(std::string(3000, 'a'));
  EXPECT_EQ(warnings_of(job, "ep=24000").front(),
            "--parallel does not change the order: more than 4000000 pairs of nodes exchange data, "
            "too many to compute an order");
}

TEST(Groups, TableAndJson) {
  const Job job("abab");
  Plan pairs = plan("tp=8,pp=2,order=tp-pp-dp");
  pairs.traffic = {{cost::Kind::tp, 8e9}, {cost::Kind::dp, 8e9}, {cost::Kind::pp, 1e9}};
  pairs.links = {{"host", {80.0, {}}}, {"rack", {160.0, {}}}, {"core", {1.0, {}}}};
  const auto table = *tabulate_groups(job.hosts, job.map, pairs);
  // A byte takes 0.2 s/GB inside a rack and 0.3 s/GB between two. For dp, eight rings of two ranks
  // on two nodes send 16 GB each; for pp, eight chains send 1 GB each.
  EXPECT_EQ(
      groups_text(table),
      "groups in more than one domain, and the time that they keep links busy: the sum over all "
      "links, which work in parallel\n"
      "order     kind  groups  size   core   rack  seconds per step\n"
      "given     tp         4     8      0      0                 0\n"
      "given     dp        16     2      0      0              51.2\n"
      "given     pp        16     2      0     16               4.8\n"
      "name      tp         4     8      0      0                 0\n"
      "name      dp        16     2      0      0              51.2\n"
      "name      pp        16     2      0     16               4.8\n"
      "torchrun  tp         4     8      0      0                 0\n"
      "torchrun  dp        16     2      0      0              51.2\n"
      "torchrun  pp        16     2      0     16               4.8\n"
      "topology  tp         4     8      0      0                 0\n"
      "topology  dp        16     2      0     16              76.8\n"
      "topology  pp        16     2      0      0               3.2\n"
      "parallel  tp         4     8      0      0                 0\n"
      "parallel  dp        16     2      0      0              51.2\n"
      "parallel  pp        16     2      0     16               4.8\n"
      "order     all kinds, seconds per step\n"
      "given     56\n"
      "name      56\n"
      "torchrun  56\n"
      "topology  80\n"
      "parallel  56\n"
      "least     56\n");
  const auto json = nlohmann::json::parse("{" + groups_json(table) + "}")["parallel"];
  EXPECT_EQ(json["bound"], 56);
  EXPECT_EQ(json["exact"], true);
  EXPECT_EQ(json["orders"][3]["cost"], 80);
  EXPECT_EQ(json["orders"][4]["groups"][1],
            nlohmann::json::parse(R"({"kind": "dp", "size": 2, "groups": 16,
                                      "spanning": {"core": 0, "rack": 0}, "cost": 51.2})"));
  EXPECT_EQ(mapping_text(*table.mapping),
            "links are busy for 56 s per step, summed over all links, and for 80 s in plain order; "
            "no order has less");
}

}  // namespace
}  // namespace toprun::placement
