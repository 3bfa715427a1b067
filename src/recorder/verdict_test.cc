#include "recorder/verdict.h"

#include <gtest/gtest.h>

#include "recorder/testing.h"

namespace toprun::recorder {
namespace {

using Json = nlohmann::json;
using Kind = Finding::Kind;
using Difference = Finding::Difference;

struct Call {
  const char* operation = "nccl:all_reduce";
  Json sizes = {{3, 4}};
  const char* type = "Float";
};

// A dump of a rank that has made these calls, the first of which has the sequence number `first`.
Json document(const std::vector<Call>& calls, int completed, int first = 1) {
  Json entries = Json::array();
  int sequence = first;
  for (const Call& call : calls) {
    entries.push_back({{"frames", {{{"name", "all_reduce"}, {"filename", "t.py"}, {"line", 7}}}},
                       {"process_group", {"0", "default_pg"}},
                       {"collective_seq_id", sequence},
                       {"profiling_name", call.operation},
                       {"input_sizes", call.sizes},
                       {"output_sizes", call.sizes},
                       {"input_dtypes", {call.type}},
                       {"output_dtypes", {call.type}},
                       {"state", sequence <= completed ? "completed" : "scheduled"},
                       {"retired", sequence <= completed},
                       {"is_p2p", false}});
    ++sequence;
  }
  entries.push_back({{"is_p2p", true}, {"process_group", {"0", ""}}});
  return {
      {"version", "2.10"},
      {"entries", entries},
      {"pg_config", {{"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", "[0, 1, 2, 3]"}}}}},
      {"pg_status",
       {{"0",
         {{"last_enqueued_collective", sequence - 1},
          {"last_started_collective", completed},
          {"last_completed_collective", completed}}}}}};
}

Dump dump(const std::vector<Call>& calls, int completed, int first = 1) {
  return *parse_dump(Pickler::write(document(calls, completed, first)));
}

TEST(Dump, IsReadFromBothForms) {
  const Json json = document({{}, {"nccl:broadcast", {{5}}, "Int"}}, 1);
  const auto pickled = parse_dump(Pickler::write(json));
  ASSERT_TRUE(pickled);
  EXPECT_EQ(*pickled, *parse_dump(json.dump()));
  EXPECT_EQ(pickled->version, "2.10");
  EXPECT_EQ(pickled->groups.at("0"), (Group{"default_pg", {0, 1, 2, 3}, 2, 1, 1}));
  ASSERT_EQ(pickled->entries.size(), 2u);
  EXPECT_EQ(pickled->entries[1],
            (Entry{"0", 2, "nccl:broadcast", "[[5]] -> [[5]]", "[\"Int\"] -> [\"Int\"]",
                   "scheduled", false, "all_reduce", "t.py", 7}));
}

TEST(Dump, HasNumbersAsTextsAndGroupsWithoutIds) {
  // As Gloo of PyTorch 2.13 writes it as JSON.
  const auto found = parse_dump(
      R"({"version": "2.10", "entries": [{"collective_seq_id": "2"}],
          "pg_config": {"": {"name": "", "desc": "", "ranks": "[0, 1]"}},
          "pg_status": {"0": {"last_enqueued_collective": "3", "last_started_collective": "-1",
                              "last_completed_collective": "2"}}})");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->groups.at("0"), (Group{"", {0, 1}, 3, -1, 2}));
  EXPECT_EQ(found->entries.at(0).sequence, 2);
}

TEST(Dump, OfAnotherShapeIsRefusedOrEmpty) {
  EXPECT_FALSE(parse_dump(""));
  EXPECT_FALSE(parse_dump("{"));
  EXPECT_FALSE(parse_dump(R"({"version": "3.0"})"));
  EXPECT_FALSE(parse_dump(Pickler::write({1, 2})));
  const auto odd = parse_dump(
      R"({"version": "2.1", "entries": [7, {}, {"frames": [7], "process_group": 7}],
          "pg_config": {"0": 7, "1": []}, "pg_status": {"0": 7}})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->entries.size(), 3u);
  EXPECT_EQ(odd->groups.at("0"), Group{});
}

TEST(Verdict, NamesWhoIsBehind) {
  const auto waits = dump({{}, {}, {"nccl:all_gather"}}, 2);
  const auto found = judge({{0, waits}, {1, dump({{}, {}}, 2)}, {2, waits}, {3, waits}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], (Finding{Kind::behind, "0", 3, "nccl:all_gather", {1}}));
}

TEST(Verdict, NamesWhoCalledSomethingElse) {
  const auto most = dump({{}, {}}, 1);
  const struct {
    Call call;
    Difference difference;
    const char* expected;
    const char* got;
  } rows[] = {
      {{"nccl:broadcast"}, Difference::operation, "nccl:all_reduce", "nccl:broadcast"},
      {{"nccl:all_reduce", {{9}}}, Difference::sizes, "[[3,4]] -> [[3,4]]", "[[9]] -> [[9]]"},
      {{"nccl:all_reduce", {{3, 4}}, "Half"},
       Difference::types,
       "[\"Float\"] -> [\"Float\"]",
       "[\"Half\"] -> [\"Half\"]"},
  };
  for (const auto& row : rows) {
    const auto found = judge({{0, most}, {1, most}, {2, dump({{}, row.call}, 1)}, {3, most}});
    ASSERT_EQ(found.size(), 1u) << row.expected;
    EXPECT_EQ(found[0], (Finding{Kind::mismatch,
                                 "0",
                                 2,
                                 "nccl:all_reduce",
                                 {2},
                                 row.difference,
                                 row.expected,
                                 row.got}));
  }
}

TEST(Verdict, KnowsThatSomeSizesMayDiffer) {
  const auto a = dump({{"nccl:all_to_all", {{3}}}}, 1);
  EXPECT_TRUE(judge({{0, a}, {1, dump({{"nccl:all_to_all", {{5}}}}, 1)}, {2, a}, {3, a}}).empty());
}

TEST(Verdict, BlamesTheNetworkWhereAllHaveCalled) {
  const auto hangs = dump({{}, {}}, 1);
  const auto found = judge({{0, hangs}, {1, hangs}, {2, dump({{}, {}}, 2)}, {3, hangs}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], (Finding{Kind::not_finished, "0", 2, "nccl:all_reduce", {0, 1, 3}}));
  const auto done = dump({{}}, 1);
  EXPECT_TRUE(judge({{0, done}, {1, done}, {2, done}, {3, done}}).empty());
}

TEST(Verdict, CountsWhoSaysNothing) {
  const auto done = dump({{}}, 1);
  const auto found = judge({{0, done}, {2, done}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], (Finding{Kind::silent, "0", 0, "", {1, 3}}));
  EXPECT_TRUE(judge({}).empty());
}

TEST(Verdict, ComparesOnlyWhatIsRemembered) {
  // The recorder of rank 1 has dropped its first calls.
  const auto found = judge({{0, dump({{}, {"nccl:broadcast"}, {}}, 3)},
                            {1, dump({{}}, 3, 3)},
                            {2, dump({{}, {"nccl:broadcast"}, {}}, 3)},
                            {3, dump({{}, {"nccl:broadcast"}, {}}, 3)}});
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace toprun::recorder
