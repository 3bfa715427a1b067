#include "run/conductor/coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "run/conductor/conductor_testing.h"

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::Failed;
using model::Failing;
using model::Finish;
using model::Gone;
using model::Leaving;
using model::Loss;
using model::Prefetched;
using model::Ready;
using model::Start;
using model::Started;
using model::Stop;
using testing::Simple;

TEST(Coordinator, SaysThatOtherHostsCannotReachTheEndpoint) {
  Settings settings = Simple::elastic(2, 3);
  settings.is_met_on_this_host_only = true;
  Simple elastic(settings);
  elastic.come(0);
  elastic.after(10s);
  EXPECT_TRUE(elastic.said.back().ends_with(
      "at most 10 min 00 s); only toprun on this same host can join: the endpoint names this host "
      "by an address that other hosts do not reach"))
      << elastic.said.back();
}

TEST(Coordinator, SaysLessAndLessOftenThatNodesAreMissing) {
  Simple run(Simple::elastic(3, 3));
  run.come(0);
  const auto lines_after = [&](std::chrono::seconds time) {
    const std::size_t before = run.said.size();
    for (auto passed = 0s; passed < time; passed += 1s) run.after(1s);
    return run.said.size() - before;
  };
  EXPECT_EQ(lines_after(10s), 1u);
  EXPECT_EQ(lines_after(30s), 1u);   // at 30 s
  EXPECT_EQ(lines_after(30s), 1u);   // at 70 s
  EXPECT_EQ(lines_after(240s), 4u);  // each minute
  run.come(1);
  EXPECT_EQ(lines_after(10s), 1u);
  EXPECT_TRUE(run.said.back().starts_with("waiting for 1 of 3 nodes")) << run.said.back();
}

TEST(Coordinator, SaysWhenAnElasticJobBegins) {
  Settings settings = Simple::elastic(2, 3);
  settings.last_call = 30s;
  Simple elastic(settings);
  elastic.come(0);
  elastic.after(10s);
  EXPECT_EQ(elastic.said.back(),
            "1 of 2:3 nodes have joined, waiting for 1 more (for 10.0 s now, at most 10 min 00 s)");
  elastic.come(1);
  elastic.after(10s);
  EXPECT_EQ(elastic.said.back(),
            "2 nodes have joined (2 to 3 may take part): the job starts unless another node joins "
            "within 20.0 s");
}

TEST(Coordinator, SaysThatAnotherNodeIsAwaitedAfterALoss) {
  for (const auto last_call : {30'000ms, 0ms}) {
    Settings settings = Simple::elastic(1, 2);
    settings.last_call = last_call;
    Simple run(settings);
    for (int node : {0, 1}) run.come(node);
    run.all_start(2);
    run.on(Left{Simple::id(1), Loss{Loss::Kind::silent, "no word"}});
    run.say(0, Gone{});
    run.pass(1s);
    const bool is_told = std::ranges::any_of(run.said, [](const std::string& line) {
      return line.starts_with(
          "starting again without it; the next attempt waits up to 30.0 s for "
          "another node");
    });
    EXPECT_EQ(is_told, last_call > 0ms) << ::testing::PrintToString(run.said);
  }
}

TEST(Coordinator, SaysThatANodeIsMissingAfterALoss) {
  Simple run(Simple::elastic(2, 2));
  for (int node : {0, 1}) run.come(node);
  run.all_start(2);
  run.on(Left{Simple::id(1), Loss{Loss::Kind::silent, "no word"}});
  run.say(0, Gone{});
  EXPECT_EQ(run.said.back(), "starting again without it; the next attempt waits for 1 more node");
}

TEST(Coordinator, TheRecordSaysWhoIsHereWhileNodesAreAwaited) {
  Settings settings = Simple::elastic(3, 4);
  settings.node_names = {"n0", "n1", "n2", "n3"};
  Simple run(settings);
  for (int node : {0, 1}) run.come(node);
  const int before = run.records;
  run.after(500ms);
  EXPECT_EQ(run.records, before) << "more may come at once";
  run.after(500ms);
  EXPECT_EQ(run.records, before + 1);
  const auto gathering = run.coordinator.gathering().value();
  EXPECT_EQ(gathering.here, (std::vector<Outside>{"n0", "n1"}));
  EXPECT_EQ(gathering.missing, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(gathering.least, 3u);
  EXPECT_EQ(gathering.most, 4u);
  EXPECT_FALSE(gathering.begins_at);
  run.come(2);
  EXPECT_TRUE(run.coordinator.gathering()->begins_at);
  run.after(5s);
  EXPECT_FALSE(run.coordinator.gathering());
}

// Slurm may kill the root within the grace: its KillWait can be shorter.
TEST(Coordinator, AnInterruptIsInTheRecordBeforeItsGraceIsOver) {
  Settings settings = Simple::elastic(2, 2);
  settings.grace.stop = 28s;
  Simple run(settings);
  for (int node : {0, 1}) run.come(node);
  run.all_start(2);
  const int before = run.records;
  run.say(1, model::Signalled{15});
  EXPECT_EQ(run.records, before + 1);
  const auto& interrupted = run.coordinator.course().attempts.back().interrupted;
  ASSERT_TRUE(interrupted);
  EXPECT_EQ(interrupted->signal, 15);
  EXPECT_EQ(interrupted->grace, 28s);
}

TEST(Coordinator, APodThatIsStartedAgainTakesItsPlace) {
  for (const bool unique : {true, false}) {
    Settings settings;
    settings.size = {3, 3};
    settings.names_are_unique = unique;
    Simple run(settings);
    const auto pod = [](int index, const char* agent, const char* host) {
      model::Join join;
      join.agent = agent;
      join.host = host;
      join.node_index = index;
      return join;
    };
    run.coordinator.admit(pod(0, "a0", "n0"));
    run.on(Came{"a0", "", ""});
    run.coordinator.admit(pod(1, "first", "n1"));
    run.on(Came{"first", "10.0.0.8", ""});
    EXPECT_TRUE(run.coordinator.admit(pod(1, "other", "n2"))) << "the place is another's";
    const auto refused = run.coordinator.admit(pod(1, "second", "n1"));
    run.settle();
    EXPECT_EQ(refused.has_value(), !unique);
    if (!unique) continue;
    EXPECT_EQ(run.said.back(), "n1 was started again and replaces its first agent (pid 0)");
    EXPECT_EQ(run.sent.back().agent, "first");
    EXPECT_TRUE(std::holds_alternative<Finish>(run.sent.back().message));
    run.on(Came{"second", "10.0.0.9", ""});
    run.on(Left{"first", Loss{Loss::Kind::silent, "no word"}});
    EXPECT_EQ(run.coordinator.stage(), Stage::gathering);
    run.coordinator.admit(pod(2, "a2", "n2"));
    run.on(Came{"a2", "10.0.0.7", ""});
    EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
  }
}

TEST(Coordinator, LeadsARunFromTheFirstToTheLast) {
  Simple run(Simple::elastic(2, 2));
  run.come(0);
  EXPECT_EQ(run.coordinator.stage(), Stage::gathering);
  run.come(1);
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
  run.all_start(2);
  EXPECT_EQ(run.count_sent<Start>(1), 1);
  for (int node : {0, 1}) run.say(node, Gone{});
  EXPECT_EQ(run.coordinator.stage(), Stage::telling);
  run.on(EndReported{"the last line"});
  EXPECT_EQ(run.count_sent<Finish>(1), 1);
  for (int node : {0, 1}) run.on(Left{Simple::id(node), std::nullopt});
  EXPECT_EQ(run.coordinator.stage(), Stage::over);
  EXPECT_EQ(run.verdict().exit_code, 0);
}

// A1: a leaving member gets Finish when all others are gone; by then it may be lost.
TEST(Coordinator, WhoWasToldToLeaveMayDieBeforeItIsToldToFinish) {
  Simple run(Simple::elastic(2, 3));
  for (int node : {0, 1, 2}) run.come(node);
  run.all_start(3);
  run.say(2, Leaving{15});
  EXPECT_EQ(run.count_sent<Stop>(1), 1);
  run.on(Left{Simple::id(2), Loss{Loss::Kind::closed, "killed"}});
  for (int node : {0, 1}) run.say(node, Gone{});
  EXPECT_EQ(run.count_sent<Finish>(2), 0);
  run.after(6s);
  run.all_start(2);
  EXPECT_EQ(run.coordinator.stage(), Stage::running);
  EXPECT_EQ(run.coordinator.course().attempts.size(), 2u);
}

// A6: an admitted member without a link cannot get a part when the last call ends.
TEST(Coordinator, WhoHasNoLinkWhenTheLastCallEndsWaitsAsASpare) {
  Simple run(Simple::elastic(1, 3));
  run.come(0);
  run.admit(1);
  run.after(5s);
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
  EXPECT_EQ(run.count_sent<Shared<model::Assignment>>(1), 0);
  run.on(Came{Simple::id(1), "10.0.0.9", ""});
  EXPECT_EQ(run.count_sent<model::WaitAsSpare>(1), 1);
}

// A7: "cannot reach n1" may come from an attempt that is over, …
TEST(Coordinator, AFailureOfAnEarlierAttemptEndsNothing) {
  Simple run(Simple::elastic(1, 2));
  for (int node : {0, 1}) run.come(node);
  run.on(Left{Simple::id(1), Loss{Loss::Kind::silent, "no word"}});
  EXPECT_EQ(run.coordinator.course().attempts.size(), 2u);
  run.say(0, Failed{Failing::finding_store, {"cannot reach n1", "", "", 1}}, 0);
  run.after(6s);
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
}

// A12: an early one is refused (roster_test); a late one is admitted with a message.
TEST(Coordinator, SaysWhoseRestartsCountToALateOne) {
  Simple run(Simple::elastic(1, 2));
  run.admit(0, 3);
  run.on(Came{Simple::id(0), "", ""});
  run.after(6s);
  run.all_start(1);
  run.admit(1, 1);
  run.settle();
  EXPECT_EQ(run.said.back(), "n1 has --max-restarts 1; the 3 of the root agent on n0 is used");
}

// A folder or another host whose name contains this node's name does not name this node.
TEST(Coordinator, AFailureNamesItsNode) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"program /tmp/n12/a-n1b", "n1: program /tmp/n12/a-n1b"},
      {"n10: no GPU", "n1: n10: no GPU"},
      {"no GPU on n1", "no GPU on n1"},
      {"n1: no GPU", "n1: no GPU"},
  };
  for (const auto& [said, reported] : lines) {
    Simple run(Simple::elastic(2, 2));
    for (int node : {0, 1}) run.come(node);
    run.say(1, Failed{Failing::preparing, {said, "", "", 1}});
    EXPECT_EQ(run.verdict().message, reported);
  }
}

// … or before the loss of the store's node is noticed.
TEST(Coordinator, AStoreThatIsOutOfReachWaitsForTheLossOfItsNode) {
  for (const bool is_lost : {true, false}) {
    Simple run(Simple::elastic(1, 2));
    for (int node : {0, 1}) run.come(node);
    run.say(0, Failed{Failing::finding_store, {"cannot reach n1", "", "", 1}});
    EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
    if (is_lost) run.on(Left{Simple::id(1), Loss{Loss::Kind::silent, "no word"}});
    run.after(12s);
    EXPECT_EQ(run.coordinator.stage(), is_lost ? Stage::preparing : Stage::telling);
    EXPECT_EQ(run.coordinator.course().attempts.size(), is_lost ? 2u : 1u);
  }
}

// A3: a member that starts its container is not unresponsive.
TEST(Coordinator, PreparingMayTakeAsLongAsTheContainer) {
  Settings settings = Simple::elastic(2, 2);
  settings.prepare_limit += 60min;
  Simple run(settings);
  for (int node : {0, 1}) run.come(node);
  run.after(59min);
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
  run.after(3min);
  EXPECT_EQ(run.verdict().kind, model::CauseKind::launcher);
}

// Otherwise a job of 12,500 nodes with a thousand restarts would keep millions of exits.
TEST(Coordinator, TheExitsOfAnAttemptAreKeptUntilTheNextHasEnded) {
  Simple run(Simple::elastic(1, 2));
  for (int node : {0, 1}) run.come(node);
  for (std::size_t attempt = 0; attempt < 3; ++attempt) {
    run.all_start(2);
    model::WorkerExit exit;
    exit.rank = exit.exit_code = 1;
    run.say(1, exit);
    for (int node : {0, 1}) run.say(node, Gone{});
    const auto& attempts = run.coordinator.course().attempts;
    EXPECT_EQ(attempts[attempt].verdict.exits.size(), 1u);
    if (attempt > 0) {
      EXPECT_TRUE(attempts[attempt - 1].verdict.exits.empty());
      EXPECT_TRUE(attempts[attempt - 1].verdict.exit);
    }
    run.after(2s);
  }
}

// Rank 0 is on n0, beside the store, rank 1 on n1.
model::Arrivals two_ranks(std::optional<std::chrono::milliseconds> met_age) {
  return {{{"", {{70, {}, 39s, met_age}}}, {"10.0.0.9", {{71, {}, 1s, met_age}}}}};
}

TEST(Coordinator, NamesTheSlowestOfEachPhase) {
  Settings settings = Simple::elastic(2, 2);
  settings.tells_orders = true;
  Simple run(settings);
  run.after(1s);
  run.come(0);
  run.after(2s);
  run.come(1);
  for (const int node : {0, 1}) run.say(node, Ready{});
  run.say(0, Started{0, "", {70}});
  run.after(500ms);
  run.say(1, Started{1, "", {71}});
  EXPECT_EQ(run.said.back(),
            "all ranks were started after 3.5 s; n1 took 3.0 s to join (median 1.0 s); n1 took 500 "
            "ms to start its ranks (median 0 ms)");
  run.after(40s);
  run.say(0, two_ranks({}));
  EXPECT_EQ(run.said.back(),
            "all ranks have connected to the store after 42.5 s; rank 1 on n1 took 39.0 s to "
            "import (median 1.5 s)");
  run.after(10s);
  run.say(1, two_ranks(0s));
  const AttemptCourse& course = run.coordinator.course().attempts.back();
  EXPECT_FALSE(course.phases.met) << "n1 has no store";
  model::Arrivals later = two_ranks(2s);
  for (auto& host : later.hosts) host.ranks[0].joined_age += 10s;
  run.say(0, later);
  EXPECT_EQ(run.said.back(),
            "all ranks have reached their first collective after 51.5 s; rank 0 on n0 took 47.0 s "
            "from the store to its first collective (median 9.0 s)");
  EXPECT_EQ(course.phases.imported, course.phases.began + 42500ms);
  EXPECT_EQ(course.phases.last_connect, course.phases.imported);
  EXPECT_EQ(course.phases.first_connect, course.phases.began + 4500ms);
  EXPECT_EQ(course.phases.met, course.phases.began + 51500ms);
  EXPECT_EQ(course.spreads.import->node, "n1");
  Gone gone;
  gone.first_connect_age = 1s;
  run.say(0, gone);
  EXPECT_EQ(course.phases.first_connect, course.phases.began + 4500ms) << "not after the last";
}

TEST(Coordinator, NamesWhoImportedLongestForAWarmStart) {
  Settings settings = Simple::elastic(3, 3);
  settings.tells_orders = true;
  Simple run(settings);
  for (const int node : {0, 1, 2}) run.come(node);
  for (const int node : {0, 1, 2}) run.say(node, Ready{});
  run.say(0, Started{0, "", {}, 3s});
  run.say(2, Started{2, "", {}, 41s});
  run.say(1, Started{1, "", {}, std::nullopt});
  EXPECT_NE(run.said.back().find("n2 took 41.0 s to import for --warm (median 3.0 s)"),
            std::string::npos)
      << run.said.back();
  EXPECT_EQ(run.coordinator.course().attempts.back().spreads.warm->counted, 2u);
}

TEST(Coordinator, NamesWhoReadLongestBeforeTheImports) {
  Settings settings = Simple::elastic(2, 2);
  settings.tells_orders = true;
  Simple run(settings);
  for (const int node : {0, 1}) run.come(node);
  for (const int node : {0, 1}) run.say(node, Ready{});
  run.say(1, Prefetched{9s});
  run.say(0, Started{0, "", {70}});
  run.say(1, Started{1, "", {71}});
  run.say(0, Prefetched{2s});
  run.after(20s);
  run.say(0, two_ranks({}));
  EXPECT_NE(run.said.back().find("n1 took 9.0 s to read what its ranks import (median 2.0 s)"),
            std::string::npos)
      << run.said.back();
  EXPECT_EQ(run.coordinator.course().attempts.back().spreads.prefetch->counted, 2u);
}

TEST(Coordinator, TellsEachNodeFromWhomItTakesTheEnvironment) {
  Settings settings = Simple::elastic(3, 3);
  settings.stage_key = "00ff";
  Simple run(settings);
  for (const int node : {0, 1, 2}) run.come(node);
  std::map<std::string, std::vector<std::string>> sources;
  for (const Send& send : run.sent) {
    const auto* const part = std::get_if<Shared<model::Assignment>>(&send.message);
    if (part == nullptr) continue;
    ASSERT_TRUE((*part)->stage);
    EXPECT_EQ((*part)->stage->key, "00ff");
    std::vector<std::string>& hosts = sources[send.agent];
    for (const model::StoreAddress& source : (*part)->stage->sources) hosts.push_back(source.host);
  }
  const std::map<std::string, std::vector<std::string>> expected = {
      {"a0", {}}, {"a1", {"n0"}}, {"a2", {"n1", "n0"}}};
  EXPECT_EQ(sources, expected);
}

TEST(Coordinator, NamesWhoTookLongestToCopyTheEnvironment) {
  Settings settings = Simple::elastic(3, 3);
  settings.stage_key = "00ff";
  settings.tells_orders = true;
  Simple run(settings);
  for (const int node : {0, 1, 2}) run.come(node);
  run.after(6s);
  run.say(1, model::Staged{5s, 3 << 20, {}});
  run.after(17s);
  run.say(2, model::Staged{22s, 1 << 20, {}});
  run.say(2, model::Staged{99s, 0, {}}, 7);  // of no attempt
  const std::size_t before = run.said.size();
  run.after(5s);
  for (const int node : {0, 1, 2}) run.say(node, Ready{});
  ASSERT_EQ(run.said.size(), before + 1);
  EXPECT_EQ(run.said.back(),
            "the environment is on 2 more nodes, 4.0 MiB were copied after 23.0 s; n2 took 22.0 s "
            "to copy the environment (median 5.0 s)");
  const AttemptCourse& course = run.coordinator.course().attempts.back();
  EXPECT_EQ(course.phases.staged, course.phases.began + 23s);
  EXPECT_EQ(course.spreads.stage->counted, 2u);
}

TEST(Coordinator, SaysOnceWhichNodesHaveNoCopy) {
  Settings settings = Simple::elastic(4, 4);
  settings.stage_key = "00ff";
  Simple run(settings);
  for (const int node : {0, 1, 2, 3}) run.come(node);
  run.say(1, model::Staged{1s, 7, {}});
  run.say(2, model::Staged{0s, 0, "no room in /tmp"});
  run.say(3, model::Staged{0s, 0, "no room in /scratch"});
  const std::size_t before = run.said.size();
  for (const int node : {0, 1, 2, 3}) run.say(node, Ready{});
  ASSERT_EQ(run.said.size(), before + 1);
  EXPECT_EQ(run.said.back(), "n2: --stage is left out: no room in /tmp; so it is on n3");
  EXPECT_EQ(run.coordinator.stage(), Stage::running);
}

TEST(Coordinator, SaysWhichRanksHaveNotCome) {
  Settings settings = Simple::elastic(2, 2);
  settings.tells_orders = true;
  Simple run(settings);
  for (const int node : {0, 1}) run.come(node);
  for (const int node : {0, 1}) run.say(node, Ready{});
  run.say(0, Started{0, "", {70}});
  run.say(1, Started{1, "", {71}});
  run.after(40s);
  model::Arrivals first = two_ranks({});
  first.hosts.pop_back();
  run.say(0, first);
  EXPECT_EQ(run.said.back(), "1 of 2 ranks have reached the store, not rank 1 on n1");
  const AttemptCourse& course = run.coordinator.course().attempts.back();
  EXPECT_TRUE(course.awaited);
  EXPECT_TRUE(course.phases.first_connect);
  EXPECT_FALSE(course.phases.last_connect);
  run.say(0, two_ranks({}));
  EXPECT_FALSE(course.awaited);
  EXPECT_TRUE(course.phases.last_connect);
}

TEST(Coordinator, RanksThatHaveJustComeToTheStoreAreNotMissed) {
  Settings settings = Simple::elastic(2, 2);
  settings.tells_orders = true;
  for (const auto& [joined, reported] : {std::pair{0s, false}, std::pair{20s, true}}) {
    Simple run(settings);
    for (const int node : {0, 1}) run.come(node);
    for (const int node : {0, 1}) run.say(node, Ready{});
    run.say(0, Started{0, "", {70}});
    run.say(1, Started{1, "", {71}});
    run.after(40s);
    model::Arrivals arrivals = two_ranks(0s);
    arrivals.hosts.back().ranks[0].met_age.reset();
    for (auto& host : arrivals.hosts) host.ranks[0].joined_age = joined;
    run.say(0, arrivals);
    const auto missed = [](const std::string& line) { return line.find("1 of 2") == 0; };
    EXPECT_EQ(std::ranges::any_of(run.said, missed), reported) << joined.count();
    EXPECT_TRUE(run.coordinator.course().attempts.back().awaited);
  }
}

TEST(Coordinator, RanksMayComeBeforeTheLastNodeIsHeard) {
  Simple run(Simple::elastic(2, 2));
  for (const int node : {0, 1}) run.come(node);
  for (const int node : {0, 1}) run.say(node, Ready{});
  run.say(0, Started{0, "", {70}});
  run.after(40s);
  run.say(0, two_ranks({}));
  EXPECT_FALSE(run.coordinator.course().attempts.back().phases.imported);
  run.after(5s);
  run.say(1, Started{1, "", {71}});
  const AttemptCourse& course = run.coordinator.course().attempts.back();
  EXPECT_EQ(course.phases.imported, course.phases.began + 39s);
  EXPECT_EQ(course.spreads.import->slowest, 1s);
  EXPECT_EQ(course.spreads.import->rank, 0);
}

// Those of an attempt that is over say nothing about the next.
TEST(Coordinator, RanksOfAnEarlierAttemptDoNotCome) {
  Simple run(Simple::elastic(2, 2));
  for (const int node : {0, 1}) run.come(node);
  run.all_start(2);
  model::WorkerExit exit;
  exit.rank = exit.exit_code = 1;
  run.say(1, exit);
  run.after(1s);
  for (const int node : {0, 1}) run.say(node, Gone{});
  run.after(6s);
  run.all_start(2);
  run.say(0, two_ranks(0s), 0);
  const AttemptCourse& course = run.coordinator.course().attempts.back();
  EXPECT_EQ(course.number, 1);
  EXPECT_FALSE(course.phases.imported);
  EXPECT_FALSE(course.spreads.join) << "nobody had to join";
  run.say(0, two_ranks(0s));
  EXPECT_TRUE(course.phases.met);
}

// An engine's signal may come to the agents long after the ranks have died of it.
TEST(Coordinator, ASignalThatComesWhileTheEngineIsAskedIsTheCauseOfRanksThatItKilled) {
  for (const auto& [later, kind] :
       {std::pair(SIGTERM, model::CauseKind::interrupted), {SIGINT, model::CauseKind::signal}}) {
    Settings settings;
    settings.size = {1, 1};
    Simple run(settings);
    run.come(0);
    run.all_start(1);
    model::WorkerExit exit;
    exit.signal = SIGTERM;
    run.say(0, Shared<model::WorkerExit>(exit));
    run.say(0, Gone{});
    ASSERT_EQ(run.coordinator.stage(), Stage::asking);
    run.say(0, model::Signalled{later});
    run.on(EngineAnswered{});
    EXPECT_EQ(run.verdict().kind, kind) << later;
    EXPECT_EQ(run.verdict().exit_code, 143) << later;
  }
}

TEST(Coordinator, StrangersAndTheGoneChangeNothing) {
  Simple run(Simple::elastic(1, 2));
  run.come(0);
  run.on(Said{"nobody", {0, Ready{}}});
  run.on(Left{"nobody", std::nullopt});
  run.on(Came{"nobody", "10.0.0.9", ""});
  run.on(Arranged{7, Arrangement{}, {}});
  run.on(EngineAnswered{});
  run.on(EndReported{"?"});
  EXPECT_EQ(run.coordinator.stage(), Stage::gathering);
}

}  // namespace
}  // namespace toprun::run
