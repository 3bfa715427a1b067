#include <gtest/gtest.h>

#include "run/testing.h"

namespace toprun::run {
namespace {

using rendezvous::Ready;
using rendezvous::Started;
using Step = view::Launch::Step;
using Names = std::vector<std::string>;
using testing::Simple;
using namespace std::chrono_literals;

Settings settings_of_two() {
  Settings settings;
  settings.size = {2, 2};
  settings.node_names = {"n0", "n1"};
  return settings;
}

TEST(Launching, FromTheFirstNodeToTheStore) {
  Simple run(settings_of_two());
  const auto launch = [&] { return run.coordinator.launch(run.now.steady); };
  run.come(0);
  run.after(3s);
  EXPECT_TRUE(run.coordinator.is_launching());
  EXPECT_EQ(launch().step, Step::join);
  EXPECT_EQ(launch().elapsed, 3s);
  EXPECT_EQ(launch().there, 1u);
  EXPECT_EQ(launch().of, 2u);
  EXPECT_EQ(launch().missing, Names{"n1"});
  run.come(1);
  run.say(1, Ready{});
  EXPECT_EQ(launch().step, Step::prepare);
  EXPECT_EQ(launch().there, 1u);
  EXPECT_EQ(launch().missing, Names{"n0"});
  run.say(0, Ready{});
  run.say(0, Started{});
  EXPECT_EQ(launch().step, Step::start);
  EXPECT_EQ(launch().there, 1u);
  EXPECT_EQ(launch().missing, Names{"n1"});
  run.say(1, Started{});
  EXPECT_EQ(launch().step, Step::meet);
  EXPECT_TRUE(run.coordinator.is_launching());
}

TEST(Launching, IsOverWhenARankHasEnded) {
  Simple run(settings_of_two());
  run.come(0);
  run.come(1);
  run.all_start(2);
  EXPECT_TRUE(run.coordinator.is_launching());
  agent::WorkerExit exit;
  exit.rank = 1;
  run.say(1, exit);
  EXPECT_FALSE(run.coordinator.is_launching());
}

}  // namespace
}  // namespace toprun::run
