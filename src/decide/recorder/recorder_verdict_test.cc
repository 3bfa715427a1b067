#include "decide/recorder/recorder_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "decide/recorder/recorder_testing.h"

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
    entries.push_back({{"record_id", sequence - 1},
                       {"pg_id", 0},
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

std::vector<Finding> judge(const std::map<int, Dump>& dumps) {
  return recorder::judge(summary_of(dumps));
}

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.push_back(finding.group + ": " + text_of(finding));
  return out;
}

TEST(Dump, IsReadFromBothForms) {
  const Json json = document({{}, {"nccl:broadcast", {{5}}, "Int"}}, 1);
  const auto pickled = parse_dump(Pickler::write(json));
  ASSERT_TRUE(pickled);
  EXPECT_EQ(*pickled, *parse_dump(json.dump()));
  EXPECT_EQ(pickled->version, "2.10");
  EXPECT_EQ(pickled->memory, Memory::all);
  EXPECT_EQ(pickled->groups, (std::vector{Group{"0", "default_pg", {0, 1, 2, 3}, 1, false}}));
  ASSERT_EQ(pickled->entries.size(), 2u);
  const Entry& entry = pickled->entries[1];
  EXPECT_EQ(entry.sequence, 2);
  EXPECT_EQ(entry.operation, "nccl:broadcast");
  EXPECT_EQ(entry.inputs, (Tensors{{5}, "[[5]]", "Int"}));
  EXPECT_FALSE(entry.has_ended);
  EXPECT_TRUE(pickled->entries[0].has_ended);
}

TEST(Dump, HasNumbersAsTexts) {
  const auto found = parse_dump(
      R"({"version": "2.10", "pg_config": {"": {"name": "", "desc": "", "ranks": "[]"}},
          "entries": [{"collective_seq_id": "2", "process_group": ["0", "default_pg"]}]})");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->entries.at(0).sequence, 2);
  EXPECT_EQ(found->groups.at(0), (Group{"0", "default_pg", {}, 1, false}));
}

TEST(Dump, OfAnotherShapeIsRefusedOrEmpty) {
  EXPECT_FALSE(parse_dump(""));
  EXPECT_FALSE(parse_dump("{"));
  EXPECT_FALSE(parse_dump(R"({"version": "3.0"})"));
  EXPECT_FALSE(parse_dump(Pickler::write({1, 2})));
  const auto odd = parse_dump(
      R"({"version": "2.1", "entries": [{}, {"frames": [7], "process_group": 7}],
          "pg_config": {"0": 7, "1": []}, "pg_status": {"0": 7}})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->entries.size(), 2u);
  EXPECT_EQ(odd->groups, std::vector<Group>(1));
}

TEST(Verdict, NamesWhoIsBehind) {
  const auto waits = dump({{}, {}, {"nccl:all_gather"}}, 2);
  const auto found = judge({{0, waits}, {1, dump({{}, {}}, 2)}, {2, waits}, {3, waits}});
  EXPECT_EQ(texts(found), (std::vector<std::string>{
                              "0: rank 1 never came to call 3 (nccl:all_gather), in which the "
                              "others wait"}));
  EXPECT_TRUE(found[0].blames);
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
      {{"nccl:all_reduce", {{3, 4}}, "Half"}, Difference::types, "Float -> Float", "Half -> Half"},
  };
  for (const auto& row : rows) {
    const auto found = judge({{0, most}, {1, most}, {2, dump({{}, row.call}, 1)}, {3, most}});
    ASSERT_EQ(found.size(), 1u) << row.expected;
    EXPECT_EQ(found[0].kind, Kind::mismatch);
    EXPECT_EQ(found[0].sequence, 2);
    EXPECT_EQ(found[0].ranks, std::vector{2});
    EXPECT_TRUE(found[0].blames);
    EXPECT_EQ(found[0].difference, row.difference);
    EXPECT_EQ(found[0].expected, row.expected);
    EXPECT_EQ(found[0].got, row.got);
  }
}

TEST(Verdict, BlamesNoneOfTwo) {
  const auto found = judge({{0, dump({{}, {}}, 1)}, {1, dump({{}, {"nccl:barrier"}}, 1)}});
  ASSERT_EQ(found[0].kind, Kind::mismatch);
  EXPECT_EQ(found[0].ranks, std::vector{1});
  EXPECT_FALSE(found[0].blames);
  EXPECT_EQ(text_of(found[0]),
            "call 2 (nccl:all_reduce): rank 1 gave nccl:barrier, rank 0 nccl:all_reduce; the dumps "
            "do not show which ranks are right");
}

TEST(Verdict, KnowsThatSomeSizesMayDiffer) {
  const auto a = dump({{"nccl:all_to_all", {{3}}}}, 1);
  EXPECT_TRUE(judge({{0, a}, {1, dump({{"nccl:all_to_all", {{5}}}}, 1)}, {2, a}, {3, a}}).empty());
}

TEST(Verdict, BlamesTheNetworkWhereAllHaveCalled) {
  const auto hangs = dump({{}, {}}, 1);
  const auto found = judge({{0, hangs}, {1, hangs}, {2, dump({{}, {}}, 2)}, {3, hangs}});
  EXPECT_EQ(texts(found),
            (std::vector<std::string>{
                "0: all ranks have made call 2 (nccl:all_reduce), but the call has not "
                "ended on ranks 0-1,3: perhaps because of the network or a GPU"}));
  const auto done = dump({{}}, 1);
  EXPECT_TRUE(judge({{0, done}, {1, done}, {2, done}, {3, done}}).empty());
}

TEST(Verdict, CountsWhoSaysNothing) {
  const auto done = dump({{}}, 1);
  const auto found = judge({{0, done}, {2, done}});
  EXPECT_EQ(texts(found), (std::vector<std::string>{": no dump of ranks 1,3"}));
  const auto waits = dump({{}, {}}, 1);
  EXPECT_EQ(texts(judge({{0, waits}, {1, waits}, {2, waits}})),
            (std::vector<std::string>{
                "0: no dump of rank 3, and the others wait in call 2 (nccl:all_reduce)"}));
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
    EXPECT_EQ(recorder::judge(summary), judge(all));
    add(summary, bounded_summary_of({{0, all.at(0)}}));
    EXPECT_EQ(summary.ranks, (std::vector{0, 1, 2, 3})) << "a rank counts once";
  }
}

TEST(Summary, IsBounded) {
  Dump long_one = dump(std::vector<Given>(500), 100);
  const Entry entry = long_one.entries.back();
  for (int i = 0; i < 2'000; ++i) {
    long_one.groups.push_back({std::to_string(i) + "x", std::string(5'000, 'd'), {}, 1, false});
    Entry& call = long_one.entries.emplace_back(entry);
    call.group = long_one.groups.size() - 1;
    call.sequence = 1;
    call.inputs.sizes = std::string(5'000, '9');
    call.has_ended = i != 1'999;
  }
  for (int rank = 0; rank < 2'000; rank += 3) {  // pairs: no run is longer
    long_one.groups[1].members.push_back(rank);
    long_one.groups[1].members.push_back(rank + 1);
  }
  const Summary summary = bounded_summary_of({{0, long_one}});
  EXPECT_EQ(summary.groups.size(), most_groups);
  const auto of = [&](const char* name) {
    return std::ranges::find(summary.groups, name, &GroupSummary::name);
  };
  ASSERT_NE(of("0"), summary.groups.end());
  ASSERT_NE(of("1999x"), summary.groups.end()) << "it waits";
  EXPECT_EQ(of("0")->calls.size(), most_calls);
  EXPECT_EQ(of("0")->calls.front().sequence, 97) << "what has ended was the same";
  EXPECT_EQ(of("1999x")->description.size(), longest_text);
  EXPECT_EQ(of("1999x")->calls[0].sizes.size(), longest_text);
  for (const GroupSummary& group : summary.groups) EXPECT_LE(group.members.size(), most_runs);
}

TEST(Verdict, ComparesOnlyWhatIsRemembered) {
  // The recorder of rank 1 has dropped its first calls.
  const auto found = judge({{0, dump({{}, {"nccl:broadcast"}, {}}, 3)},
                            {1, dump({{}}, 3, 3)},
                            {2, dump({{}, {"nccl:broadcast"}, {}}, 3)},
                            {3, dump({{}, {"nccl:broadcast"}, {}}, 3)}});
  EXPECT_TRUE(found.empty());
}

// As PyTorch writes a rank's calls: (counter of the process, name, number, operation, ended).
struct Made {
  int id;
  const char* name;
  int sequence;
  const char* operation = "nccl:all_reduce";
  bool ended = true;
  int p2p = 0;
};

Json json_of(const Made& call, int record) {
  const bool is_p2p = std::string_view(call.operation).find("->") != std::string_view::npos ||
                      std::string_view(call.operation).find("<-") != std::string_view::npos;
  return {{"record_id", record},
          {"pg_id", call.id},
          {"process_group", {call.name, "desc"}},
          {"collective_seq_id", call.sequence},
          {"p2p_seq_id", call.p2p},
          {"profiling_name", call.operation},
          {"input_sizes", {{4}}},
          {"output_sizes", {{4}}},
          {"input_dtypes", {"Float"}},
          {"output_dtypes", {"Float"}},
          {"state", call.ended ? "completed" : "scheduled"},
          {"retired", call.ended},
          {"is_p2p", is_p2p}};
}

using Members = std::vector<std::pair<const char*, const char*>>;  // name, ranks

Dump rank_of(const std::vector<Made>& calls, const Members& members = {}, int first = 0) {
  Json json = {{"version", "2.10"}, {"entries", Json::array()}, {"pg_config", Json::object()}};
  for (const Made& call : calls) json["entries"].push_back(json_of(call, first++));
  for (const auto& [name, ranks] : members) {
    json["pg_config"][name] = {{"name", name}, {"desc", "desc"}, {"ranks", ranks}};
  }
  return *parse_dump(json.dump());
}

TEST(Verdict, TakesTheNameForTheGroupNotTheCounter) {
  // Ranks 2 and 3 know their group as 1 too, by the counter; all their calls have ended.
  const auto a = rank_of({{1, "1", 1}, {1, "1", 2}, {1, "1", 3}}, {{"1", "[0, 1]"}});
  const auto b = rank_of({{1, "2", 1}}, {{"2", "[2, 3]"}});
  EXPECT_EQ(texts(judge({{0, a}, {1, a}, {2, b}, {3, b}})), std::vector<std::string>());
}

TEST(Verdict, SeesAMemberThatHasMadeNoCall) {
  const auto waits = rank_of({{1, "2", 1, "nccl:all_reduce", false}}, {{"2", "[2, 3]"}});
  const auto idle = rank_of({});
  EXPECT_EQ(texts(judge({{2, waits}, {3, idle}})),
            (std::vector<std::string>{
                "2: rank 3 never came to call 1 (nccl:all_reduce), in which rank 2 waits"}));
  const auto untold = rank_of({{1, "2", 1, "gloo:all_reduce", false}});
  const auto found = judge({{2, untold}, {3, idle}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Kind::unclear) << text_of(found[0]);
  EXPECT_FALSE(found[0].blames);
}

TEST(Verdict, KnowsWhatARecorderHasForgotten) {
  // The ring of rank 3 holds its last calls only, none of group 2.
  const auto waits = rank_of({{1, "2", 9, "nccl:all_reduce", false}}, {{"2", "[2, 3]"}}, 100);
  const auto full = rank_of({{0, "0", 70}}, {}, 100);
  const auto found = judge({{2, waits}, {3, full}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0]),
            "rank 2 waits in call 9 (nccl:all_reduce); it is not known whether rank 3 made this "
            "call: the recorder no longer has the entry");
}

TEST(Verdict, KeepsGroupsOfOneNameApart) {
  const auto a = rank_of({{1, "1", 5, "nccl:all_reduce", true}}, {{"1", "[0, 1]"}});
  const auto b = rank_of({{1, "1", 2, "nccl:broadcast", true}}, {{"1", "[2, 3]"}});
  EXPECT_EQ(texts(judge({{0, a}, {1, a}, {2, b}, {3, b}})), std::vector<std::string>());
}

TEST(Verdict, FollowsWhoWaitsForWhom) {
  // Rank 3 sleeps before tp's second call; rank 2 waits there, and rank 0 in dp for rank 2.
  const Members all = {{"tp", "[2, 3]"}, {"dp", "[0, 2]"}};
  const auto zero = rank_of({{1, "dp", 1}, {1, "dp", 2, "nccl:all_gather", false}}, all);
  const auto two =
      rank_of({{1, "dp", 1}, {2, "tp", 1}, {2, "tp", 2, "nccl:all_reduce", false}}, all);
  const auto three = rank_of({{2, "tp", 1}}, all);
  const auto found = judge({{0, zero}, {2, two}, {3, three}});
  EXPECT_EQ(texts(found),
            (std::vector<std::string>{
                "tp: rank 3 never came to call 2 (nccl:all_reduce), in which rank 2 "
                "waits",
                "dp: rank 2 did not come to call 2 (nccl:all_gather), in which rank 0 "
                "waits: it waits in call 2 (nccl:all_reduce) of desc (group tp)"}));
  EXPECT_TRUE(found[0].blames);
  EXPECT_FALSE(found[1].blames);
}

TEST(Verdict, NamesTheFewThatCallInAnotherOrder) {
  const Members all = {{"a", "[0, 1, 2]"}, {"b", "[0, 1, 2]"}};
  const auto most = rank_of({{1, "a", 1, "nccl:all_reduce", false}}, all);
  const auto odd = rank_of({{2, "b", 1, "nccl:all_reduce", false}}, all);
  const auto found = judge({{0, most}, {1, most}, {2, odd}});
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].blames);
  EXPECT_EQ(found[0].ranks, std::vector{2});
  // Of two, none is odd.
  const Members both = {{"a", "[0, 1]"}, {"b", "[0, 1]"}};
  for (const Finding& finding :
       judge({{0, rank_of({{1, "a", 1, "nccl:all_reduce", false}}, both)},
              {1, rank_of({{2, "b", 1, "nccl:all_reduce", false}}, both)}})) {
    EXPECT_FALSE(finding.blames) << text_of(finding);
  }
}

TEST(Verdict, DoesNotCountCallsAheadOfTheOneThatHangs) {
  // Ranks run ahead of the GPU: all made call 3, which hangs, and called more or less after it.
  const Members all = {{"0", "[0, 1]"}};
  const auto far = rank_of(
      {{0, "0", 2}, {0, "0", 3, "nccl:all_reduce", false}, {0, "0", 4, "nccl:all_reduce", false}},
      all);
  const auto less = rank_of({{0, "0", 2}, {0, "0", 3, "nccl:all_reduce", false}}, all);
  EXPECT_EQ(texts(judge({{0, far}, {1, less}})),
            (std::vector<std::string>{
                "0: all ranks have made call 3 (nccl:all_reduce), but the call has not "
                "ended on ranks 0-1: perhaps because of the network or a "
                "GPU"}));
}

TEST(Verdict, KnowsThatOnlyARootHasOutputsOrInputs) {
  Json root = json_of({0, "0", 1, "nccl:gather"}, 0);
  Json other = root;
  root["output_sizes"] = {{4}, {4}};
  other["output_sizes"] = Json::array();
  other["output_dtypes"] = Json::array();
  const auto of = [](const Json& entry) {
    return *parse_dump(Json{{"version", "2.10"}, {"entries", {entry}}}.dump());
  };
  EXPECT_EQ(texts(judge({{0, of(root)}, {1, of(other)}})), std::vector<std::string>());
  other["input_dtypes"] = {"Half"};
  EXPECT_EQ(judge({{0, of(root)}, {1, of(other)}}).at(0).got, "Half");
}

TEST(Verdict, ComparesElementsNotShapes) {
  Json flat = json_of({0, "0", 1}, 0);
  flat["input_sizes"] = flat["output_sizes"] = {{2, 2}};
  const auto dump = parse_dump(Json{{"version", "2.10"}, {"entries", {flat}}}.dump());
  EXPECT_EQ(texts(judge({{0, rank_of({{0, "0", 1}})}, {1, *dump}})), std::vector<std::string>());
}

TEST(Verdict, NamesWhoDoesNotSend) {
  const Members all = {{"0", "[4, 5, 6]"}};
  const auto sleeps = rank_of({{0, "0", 0, "nccl:send 0->1", true, 1}}, all);
  const auto middle = rank_of({{0, "0", 0, "nccl:recv 1<-0", true, 1},
                               {0, "0", 0, "nccl:send 1->2", true, 2},
                               {0, "0", 0, "nccl:recv 1<-0", false, 3}},
                              all);
  const auto last = rank_of(
      {{0, "0", 0, "nccl:recv 2<-1", true, 1}, {0, "0", 0, "nccl:recv 2<-1", false, 2}}, all);
  EXPECT_EQ(texts(judge({{4, sleeps}, {5, middle}, {6, last}})),
            (std::vector<std::string>{
                "0: rank 4 never sent to rank 5, which waits in nccl:recv 1<-0",
                "0: rank 5 has not sent to rank 6, which waits in nccl:recv 2<-1: it waits "
                "in nccl:recv 1<-0"}));
}

TEST(Verdict, GivesCoalescedCallsTheStateOfTheirEnd) {
  // The single calls have no events; the end of sends bears the number of the last collective.
  const Members all = {{"0", "[0, 1]"}};
  const auto of = [&](bool ended, const char* first, const char* second) {
    return rank_of({{0, "0", 1, "nccl:all_reduce", true, 0},
                    {0, "0", 1, first, false, 1},
                    {0, "0", 1, second, false, 1},
                    {0, "0", 1, "nccl:coalesced", ended, 1},
                    {0, "0", 2, "nccl:_all_gather_base", false, 1},
                    {0, "0", 2, "nccl:ALLGATHER_coalesced", true, 1}},
                   all);
  };
  EXPECT_EQ(texts(judge({{0, of(true, "nccl:send 0->1", "nccl:recv 0<-1")},
                         {1, of(true, "nccl:send 1->0", "nccl:recv 1<-0")}})),
            std::vector<std::string>());
  EXPECT_EQ(
      texts(judge({{0, of(false, "nccl:send 0->1", "nccl:recv 0<-1")},
                   {1, rank_of({{0, "0", 1}, {0, "0", 2, "nccl:ALLGATHER_coalesced"}}, all)}})),
      (std::vector<std::string>{
          "0: rank 1 never sent to rank 0, which waits in nccl:recv 0<-1",
          "0: rank 1 never received from rank 0, which waits in nccl:send 0->1"}));
}

TEST(Verdict, SaysWhenDumpsHaveCountersOnly) {
  const auto dump =
      parse_dump(R"({"version": "2.10", "pg_status": {"0": {"last_enqueued_collective": 5}}})");
  EXPECT_EQ(texts(judge({{0, *dump}, {1, *dump}})),
            (std::vector<std::string>{": ranks 0-1: the dump has counters that name no group, and "
                                      "no calls, so it shows nothing"}));
}

TEST(Members, AreRuns) {
  const std::vector<int> mesh = {0, 1, 2, 3, 8, 16, 24, 25};
  EXPECT_EQ(runs_of(mesh), (std::vector<recorder::Run>{{0, 4, 1}, {8, 3, 8}, {25, 1, 1}}));
  EXPECT_EQ(ranks_of(runs_of(mesh)), mesh);
}

}  // namespace
}  // namespace toprun::recorder
