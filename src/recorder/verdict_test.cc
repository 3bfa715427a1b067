#include "recorder/verdict.h"

#include <gtest/gtest.h>

#include "recorder/testing.h"

namespace toprun::recorder {
namespace {

using Json = nlohmann::json;
using Kind = Finding::Kind;
using Difference = Finding::Difference;

struct Given {
  const char* operation = "nccl:all_reduce";
  Json sizes = {{3, 4}};
  const char* type = "Float";
};

// A dump of a rank that has made these calls, the first of which has the sequence number `first`.
Json document(const std::vector<Given>& calls, int completed, int first = 1) {
  Json entries = Json::array();
  int sequence = first;
  for (const Given& call : calls) {
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

Dump dump(const std::vector<Given>& calls, int completed, int first = 1) {
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
    Given call;
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
  EXPECT_TRUE(judge(std::map<int, Dump>()).empty());
}

TEST(Verdict, IsTheSameFromTheSummariesOfNodes) {
  const std::vector<Given> most = {{}, {}, {"nccl:all_gather"}};
  for (const auto& odd :
       std::vector<std::vector<Given>>{{{}, {}},                      // behind
                                       {{}, {}, {"nccl:broadcast"}},  // another operation
                                       {{}, {}, {"nccl:all_gather", {{9, 9, 9}}}},  // another size
                                       most}) {
    const std::map<int, Dump> all = {
        {0, dump(most, 2)}, {1, dump(most, 2)}, {2, dump(odd, 2)}, {3, dump(most, 2)}};
    Summary summary = bounded_summary_of({{2, all.at(2)}, {3, all.at(3)}});
    add(summary, bounded_summary_of({{0, all.at(0)}, {1, all.at(1)}}));
    EXPECT_EQ(judge(summary), judge(all));
    add(summary, bounded_summary_of({{0, all.at(0)}}));
    EXPECT_EQ(summary.ranks, (std::vector{0, 1, 2, 3})) << "a rank counts once";
  }
}

TEST(Summary, IsBounded) {
  Dump long_one = dump(std::vector<Given>(500), 100);
  const Entry entry = long_one.entries.back();
  for (int i = 0; i < 2'000; ++i) {
    const std::string id = std::to_string(i);
    long_one.groups[id] = Group{std::string(5'000, 'd'), {}, 1, 1, 0};
    Entry& call = long_one.entries.emplace_back(entry);
    call.group = id;
    call.sequence = 1;
    call.sizes = std::string(5'000, '9');
  }
  long_one.groups[std::string(1'000, 'x')] = {};
  const Summary summary = bounded_summary_of({{0, long_one}});
  EXPECT_EQ(summary.groups.size(), most_groups);
  ASSERT_EQ(summary.groups[0].id, "0");
  ASSERT_EQ(summary.groups[0].calls.size(), most_calls);
  EXPECT_EQ(summary.groups[0].calls.front().sequence, 1) << "its status was overwritten";
  EXPECT_EQ(summary.groups[1].description.size(), longest_text);
  EXPECT_EQ(summary.groups[1].calls[0].sizes.size(), longest_text);
  const Summary recent = bounded_summary_of({{0, dump(std::vector<Given>(500), 100)}});
  EXPECT_EQ(recent.groups[0].calls.front().sequence, 101) << "what has ended was the same";
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
