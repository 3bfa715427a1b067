#include <gtest/gtest.h>

#include <algorithm>

#include "run/conductor/conductor_testing.h"

// What the root does about an answer that comes at a bad time, late or never.
namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::Gone;
using model::Loss;
using model::OutputLines;
using model::Ready;
using model::Signalled;
using model::Started;
using model::Stop;
using testing::Simple;

Settings settings_of(int nodes) {
  Settings settings;
  settings.size = {nodes, nodes, true};
  settings.max_restarts = 3;
  return settings;
}

model::WorkerExit failing(int rank) {
  model::WorkerExit exit;
  exit.rank = rank;
  exit.exit_code = 7;
  return exit;
}

TEST(Limits, AQuestionIsAnsweredInEveryStage) {
  Simple run(settings_of(2));
  std::size_t asked = 0;
  const auto ask = [&] {
    run.on(PlacesAsked{static_cast<int>(asked++)});
    EXPECT_EQ(run.places.size(), asked) << name_of(run.coordinator.stage());
  };
  ask();
  run.answers = false;
  run.come(0);
  run.come(1);
  EXPECT_EQ(run.coordinator.stage(), Stage::arranging);
  ask();
  run.on(Left{"a1", Loss{Loss::Kind::closed, "gone"}});
  EXPECT_EQ(run.coordinator.stage(), Stage::gathering);
  ask();
  run.answers = true;
  run.come(2);
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
  ask();
}

TEST(Limits, OutputIsTakenInEveryStage) {
  Simple run(settings_of(2));
  run.come(0);
  run.come(1);
  run.all_start(2);
  int said = 0;
  const auto print = [&] {
    run.say(1, OutputLines{false, "a line\n"});
    EXPECT_EQ(run.shown.size(), static_cast<std::size_t>(++said))
        << name_of(run.coordinator.stage());
    EXPECT_EQ(run.shown.back().host, "n1");
  };
  print();
  run.answers = false;
  run.say(0, Shared<model::WorkerExit>(failing(0)));
  run.say(0, Gone{});
  run.say(1, Gone{});
  EXPECT_EQ(run.coordinator.stage(), Stage::arranging);
  print();
}

// Off a terminal nothing else shows it.
TEST(Limits, EveryStageSaysWhatItWaitsFor) {
  const auto waits = [](const Simple& run) {
    std::vector<std::string> lines;
    for (const std::string& line : run.said) {
      if (line.starts_with("waits for ")) lines.push_back(line);
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  Simple ordering(settings_of(2));
  ordering.answers = false;
  ordering.come(0);
  ordering.come(1);
  ordering.pass(4s);
  EXPECT_EQ(waits(ordering), Lines());
  ordering.pass(2s);
  EXPECT_EQ(waits(ordering),
            Lines{"waits for the source of the nodes' places, for 1 min 00 s at most"});

  Simple run(settings_of(2));
  run.come(0);
  run.come(1);
  run.say(0, Ready{});
  run.pass(9s);
  EXPECT_EQ(waits(run), Lines());
  run.pass(20s);
  Lines expected{"waits for n1 to get ready, for 1 min 00 s at most"};
  EXPECT_EQ(waits(run), expected);
  run.say(1, Ready{});
  run.say(0, Started{});
  run.pass(20s);
  expected.push_back("waits for n1 to start its ranks, for 1 min 10 s at most");
  EXPECT_EQ(waits(run), expected);
  run.say(1, Started{});
  run.pass(1h);
  EXPECT_EQ(waits(run), expected) << "ranks may work as long as they like";
  run.say(0, Shared<model::WorkerExit>(failing(0)));
  run.say(0, Gone{});
  run.pass(35s);
  EXPECT_EQ(waits(run), expected) << "the ranks' grace is theirs";
  run.pass(10s);
  expected.push_back("waits for n1 to report that its ranks are gone, for 30.0 s at most");
  EXPECT_EQ(waits(run), expected);
}

TEST(Limits, ANodeThatOnlyBeatsAfterAnOrderIsLost) {
  Settings settings = settings_of(2);
  settings.grace.stop = 30s;
  Simple run(settings);
  run.come(0);
  run.come(1);
  run.all_start(2);
  run.say(0, Signalled{15});
  run.say(0, Gone{});
  run.after(30s + settings.silence_limit);
  EXPECT_EQ(run.coordinator.stage(), Stage::running);
  run.pass(1min);
  EXPECT_GE(run.coordinator.stage(), Stage::asking);
  EXPECT_EQ(run.closed, std::vector<std::string>{"a1"});
  EXPECT_NE(run.said.back().find("n1"), std::string::npos);
}

TEST(Limits, ANodeThatDoesNotStartItsRanksIsLost) {
  Settings settings = settings_of(2);
  Simple run(settings);
  run.prepare = false;  // it starts with its assignment
  run.come(0);
  run.come(1);
  run.say(0, Ready{});
  run.say(0, Started{});
  EXPECT_EQ(run.coordinator.stage(), Stage::running);
  run.pass(75s);
  EXPECT_EQ(run.closed, std::vector<std::string>{"a1"});
  EXPECT_EQ(run.count_sent<Stop>(0), 1);
  run.say(0, Gone{});
  EXPECT_EQ(run.coordinator.course().attempts[0].verdict.node, "n1");
}

TEST(Limits, AnOrderThatIsNotComputedEndsTheRun) {
  Simple run(settings_of(2));
  run.answers = false;
  run.come(0);
  run.come(1);
  run.pass(5min);
  EXPECT_GE(run.coordinator.stage(), Stage::asking);
  EXPECT_NE(run.verdict().message.find("order"), std::string::npos) << run.verdict().message;
}

TEST(Limits, AnExitOfAnothersRankEndsNothingInItsName) {
  Simple run(settings_of(2));
  run.come(0);
  run.come(1);
  run.all_start(2);
  run.say(1, Shared<model::WorkerExit>(failing(0)));
  run.say(0, Gone{});
  run.say(1, Gone{});
  const Verdict& verdict = run.coordinator.course().attempts[0].verdict;
  EXPECT_EQ(verdict.node, "n1");
  EXPECT_NE(verdict.message.find("rank 0 has ended"), std::string::npos) << verdict.message;
}

TEST(Limits, VisitorsFillNoTerminal) {
  Simple run(settings_of(1));
  run.come(0);
  run.said.clear();
  for (int agent = 1; agent <= 1'000; ++agent) run.come_to("n9", agent);
  EXPECT_LE(run.said.size(), static_cast<std::size_t>(most_visitor_lines));
  run.now.steady += visitor_lines_while;
  run.on(Left{"a1", Loss{Loss::Kind::closed, "gone"}});
  EXPECT_NE(run.said.end()[-2].find("more lines about agents"), std::string::npos);
}

TEST(Limits, OldAttemptsKeepNoNodes) {
  Settings settings = settings_of(2);
  settings.max_restarts = 2'000;
  Simple run(settings);
  run.come(0);
  run.come(1);
  for (int attempt = 0; attempt < 1'500; ++attempt) {
    run.all_start(2);
    run.now.steady += 1min;
    model::WorkerExit exit = failing(0);
    exit.ended = run.now.steady;
    run.say(0, exit);
    run.say(0, Gone{});
    run.say(1, Gone{});
  }
  const auto& attempts = run.coordinator.course().attempts;
  EXPECT_EQ(attempts.size(), most_recorded);
  EXPECT_EQ(attempts.back().number, 1'500);
  EXPECT_EQ(run.coordinator.course().attempt(1'499).nodes.size(), 2u);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(
                attempts, [](const AttemptCourse& one) { return !one.nodes.empty(); })),
            most_recorded_with_nodes);
}

// An attempt in which n1 is lost soon after the start, and a new agent comes there.
void lose_n1(Simple& run, int agent) {
  const std::string id = Simple::id(agent);
  ASSERT_EQ(run.coordinator.stage(), Stage::preparing);
  run.say(0, Ready{});
  run.say(agent, Ready{});
  run.say(0, Started{});
  run.say(agent, Started{});
  run.on(Left{id, Loss{Loss::Kind::closed, "the connection was closed"}});
  run.say(0, Gone{});
}

TEST(Limits, ANodeThatIsAlwaysLostIsNotTriedForEver) {
  Simple run(settings_of(2));
  run.come(0);
  int lives = 0;
  for (; lives < 50 && run.coordinator.stage() < Stage::asking; ++lives) {
    run.pass(40s);
    run.come_to("n1", 1 + lives);
    lose_n1(run, 1 + lives);
  }
  EXPECT_EQ(lives, hopeless_after);
  EXPECT_EQ(run.coordinator.course().attempts.back().verdict.node, "n1");
}

}  // namespace
}  // namespace toprun::run
