#include <gtest/gtest.h>

#include <algorithm>

#include "run/conductor/conductor_testing.h"
#include "run/conductor/node_part.h"

namespace toprun::run {
namespace {

using model::Assignment;
using model::Gone;
using model::Loss;
using model::Ready;
using model::Start;
using model::Started;
using model::Stop;
using Step = model::Launch::Step;
using Names = std::vector<std::string>;
using testing::Simple;
using namespace std::chrono_literals;

Settings settings_of_two() {
  Settings settings;
  settings.size = {2, 2};
  settings.node_names = {"n0", "n1"};
  return settings;
}

TEST(Launching, AnAddressThatItsUserNamedGoesBeforeTheOneThatTheRootSees) {
  for (const bool is_named : {false, true}) {
    Simple run(settings_of_two());
    run.store_host = 1;
    run.come(0);
    model::Join join;
    join.agent = run.id(1);
    join.host = "n1";
    join.addresses = {"10.9.0.2", "10.9.0.1"};
    join.address_is_named = is_named;
    EXPECT_FALSE(run.coordinator.admit(join));
    run.on(Came{run.id(1), "10.9.0.1", ""});
    const auto* const part = run.coordinator.part_of(run.id(0));
    ASSERT_NE(part, nullptr);
    const std::vector<std::string> expected =
        is_named ? std::vector<std::string>{"10.9.0.2", "10.9.0.1"}
                 : std::vector<std::string>{"10.9.0.1", "10.9.0.2"};
    EXPECT_EQ(part->store->addresses, expected);
  }
}

TEST(Launching, FromTheFirstNodeToTheStore) {
  Simple run(settings_of_two());
  const auto launch = [&] { return run.coordinator.launch(run.now.steady); };
  run.come(0);
  run.after(3s);
  EXPECT_TRUE(run.coordinator.is_launching());
  EXPECT_EQ(launch().step, Step::join);
  EXPECT_EQ(launch().elapsed, 3s);
  EXPECT_EQ(launch().ready, 1u);
  EXPECT_EQ(launch().total, 2u);
  EXPECT_EQ(launch().missing, Names{"n1"});
  run.come(1);
  run.say(1, Ready{});
  EXPECT_EQ(launch().step, Step::prepare);
  EXPECT_EQ(launch().ready, 1u);
  EXPECT_EQ(launch().missing, Names{"n0"});
  run.say(0, Ready{});
  run.say(0, Started{});
  EXPECT_EQ(launch().step, Step::start);
  EXPECT_EQ(launch().ready, 1u);
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
  model::WorkerExit exit;
  exit.rank = 1;
  run.say(1, exit);
  EXPECT_FALSE(run.coordinator.is_launching());
}

// Which message a node was sent last; its assignment may tell it to start.
std::string last_sent(const Simple& run, int node) {
  std::string last;
  for (const Send& send : run.sent) {
    if (send.agent != Simple::id(node)) continue;
    const auto* const part = std::get_if<Shared<Assignment>>(&send.message);
    last = part == nullptr ? "another" : (*part)->start ? "assignment, start" : "assignment";
    if (std::holds_alternative<Start>(send.message)) last = "start";
  }
  return last;
}

TEST(Launching, WhoHasNothingToPrepareStartsWithItsAssignment) {
  Simple run(settings_of_two());
  run.prepare = false;
  run.come(0);
  run.come(1);
  EXPECT_EQ(last_sent(run, 0), "assignment") << "it holds the store, which has to be there first";
  EXPECT_EQ(last_sent(run, 1), "");
  EXPECT_EQ(run.coordinator.launch(run.now.steady).missing, Names{"n0"});
  run.say(1, Ready{});
  EXPECT_EQ(last_sent(run, 1), "") << "it was not asked";
  run.say(0, Ready{});
  EXPECT_EQ(last_sent(run, 0), "start");
  EXPECT_EQ(last_sent(run, 1), "assignment, start");
  run.say(0, Started{});
  run.say(1, Started{});
  EXPECT_EQ(run.coordinator.launch(run.now.steady).step, Step::meet);
}

TEST(Launching, IfOneNodePreparesAllWaitForStart) {
  Simple run(settings_of_two());
  run.come(0);
  run.come(1);
  for (const int node : {0, 1}) EXPECT_EQ(last_sent(run, node), "assignment");
  run.say(0, Ready{});
  EXPECT_EQ(last_sent(run, 0), "assignment");
  run.say(1, Ready{});
  for (const int node : {0, 1}) EXPECT_EQ(last_sent(run, node), "start");
}

TEST(Launching, IfTheStoreIsElsewhereAllWaitForStart) {
  Simple run(settings_of_two());
  run.prepare = false;
  run.store_host = 1;
  run.come(0);
  run.come(1);
  for (const int node : {0, 1}) EXPECT_EQ(last_sent(run, node), "assignment");
}

TEST(Launching, WhoIsLostBeforeItsAssignmentEndsTheAttempt) {
  Simple run(settings_of_two());
  run.prepare = false;
  run.come(0);
  run.come(1);
  run.on(Left{Simple::id(1), Loss{Loss::Kind::closed, "the connection was closed"}});
  EXPECT_EQ(last_sent(run, 1), "");
  EXPECT_EQ(run.verdict().kind, model::CauseKind::agent_lost);
  EXPECT_EQ(run.verdict().node, "n1");
}

// A node's part, which has been told to start with its assignment.
struct Starting {
  explicit Starting(PartSettings settings = {}) : part(std::move(settings)) {
    Assignment assignment;
    assignment.start = true;
    tell(Shared<Assignment>(assignment));
  }
  void tell(model::ToNode message) { on(MessageReceived{std::move(message)}); }
  void on(PartEvent event) {
    part.on(std::move(event), {});
    for (PartAction& action : part.take()) actions.push_back(std::move(action));
  }
  template <class Action>
  bool did() const {
    return std::ranges::any_of(
        actions, [](const PartAction& action) { return std::holds_alternative<Action>(action); });
  }
  template <class Message>
  bool said() const {
    return std::ranges::any_of(actions, [](const PartAction& action) {
      const auto* const report = std::get_if<Report>(&action);
      return report != nullptr && std::holds_alternative<Message>(report->message.what);
    });
  }
  NodePart part;
  std::vector<PartAction> actions;
};

TEST(Launching, ANodeStartsWhenTheStoreIsFound) {
  Starting node;
  EXPECT_TRUE(node.did<FindStore>());
  EXPECT_FALSE(node.did<StartWorkers>());
  node.on(StoreFound{0, "10.0.0.1"});
  EXPECT_TRUE(node.did<StartWorkers>());
  EXPECT_FALSE(node.said<Ready>());
  node.tell(Start{});
  EXPECT_EQ(node.part.state(), PartState::starting) << "one start is enough";
}

TEST(Launching, ANodeThatIsStoppedBeforeTheStoreIsFoundDoesNotStart) {
  Starting node;
  node.tell(Stop{1s});
  EXPECT_TRUE(node.said<Gone>());
  node.on(StoreFound{0, "10.0.0.1"});
  EXPECT_FALSE(node.did<StartWorkers>());
}

TEST(Launching, AnUnfitNodeDoesNotStart) {
  PartSettings settings;
  settings.unfit = Error{"no RDMA", "", "", 1};
  Starting node(settings);
  node.on(StoreFound{0, "10.0.0.1"});
  EXPECT_FALSE(node.did<StartWorkers>());
}

}  // namespace
}  // namespace toprun::run
