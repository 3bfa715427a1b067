#include "run/conductor/node_part.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::Assignment;
using model::Leaving;
using model::Loss;
using model::Signalled;
using model::Started;
using model::Stop;

// A member of a job with two nodes, and what it did.
struct Part {
  explicit Part(PartSettings settings) : part(std::move(settings)) { settle(); }

  static PartSettings settings(bool elastic, bool is_own = false) {
    PartSettings settings;
    settings.host = "n1";
    settings.elastic = elastic;
    settings.is_own = is_own;
    return settings;
  }
  static Part running(PartSettings settings) {
    Part one(std::move(settings));
    Assignment assignment;
    assignment.store = model::StoreAddress{};
    assignment.start = true;
    one.on(MessageReceived{Shared<Assignment>(assignment)});
    one.on(StoreFound{0, std::string("10.0.0.1")});
    one.on(WorkersStarted{Started{}});
    one.done.clear();
    return one;
  }

  void on(PartEvent event) {
    part.on(std::move(event), now);
    settle();
  }
  void signal_after(std::chrono::milliseconds time, int signal, bool for_all = false) {
    now += time;
    GotSignal got;
    got.signal = signal;
    got.for_all = for_all;
    on(got);
  }
  void settle() {
    for (auto actions = part.take(); !actions.empty(); actions = part.take()) {
      std::ranges::move(actions, std::back_inserter(done));
    }
  }
  template <class What>
  int reported() const {
    return static_cast<int>(std::ranges::count_if(done, [](const PartAction& action) {
      const auto* report = std::get_if<Report>(&action);
      return report != nullptr && std::holds_alternative<What>(report->message.what);
    }));
  }
  // The graces with which the workers were stopped.
  std::vector<std::chrono::milliseconds> stops() const {
    std::vector<std::chrono::milliseconds> graces;
    for (const PartAction& action : done) {
      if (const auto* stop = std::get_if<StopWorkers>(&action)) graces.push_back(stop->grace);
    }
    return graces;
  }

  SteadyTime now = SteadyTime{} + 1h;
  NodePart part;
  std::vector<PartAction> done;
};

using Graces = std::vector<std::chrono::milliseconds>;

TEST(NodePart, TwoDeliveriesOfASignalAreOneWish) {
  Part member = Part::running(Part::settings(false));
  member.signal_after(0ms, SIGTERM);
  member.signal_after(2ms, SIGTERM);  // the keeper's copy
  member.signal_after(300ms, SIGHUP);
  EXPECT_EQ(member.reported<Signalled>(), 1);
  member.signal_after(2s, SIGTERM);  // its user has waited
  EXPECT_EQ(member.reported<Signalled>(), 2);
}

TEST(NodePart, ARepeatAtALeaverEndsItsOwnGraceOnly) {
  Part member = Part::running(Part::settings(true));
  member.signal_after(0ms, SIGINT);
  member.signal_after(2ms, SIGINT);
  EXPECT_EQ(member.reported<Leaving>(), 1);
  EXPECT_EQ(member.stops(), Graces{});
  member.on(MessageReceived{Stop{30s}});
  member.signal_after(2s, SIGTERM);
  EXPECT_EQ(member.reported<Leaving>(), 1);
  EXPECT_EQ(member.reported<Signalled>(), 0);
  EXPECT_EQ(member.stops(), (Graces{30s, 0s}));
}

TEST(NodePart, ASignalForAllEndsAnElasticJob) {
  Part member = Part::running(Part::settings(true));
  member.signal_after(0ms, SIGINT, true);
  EXPECT_EQ(member.reported<Leaving>(), 0);
  EXPECT_EQ(member.reported<Signalled>(), 1);
}

// The root may start its ranks elsewhere as soon as it has noticed the silence.
TEST(NodePart, WhoIsCutOffHasAShortGrace) {
  Part member = Part::running(Part::settings(false));
  member.on(RootLost{{Loss::Kind::silent, "no message for 10.0 s"}});
  EXPECT_EQ(member.stops(), Graces{1s});
}

// The root's report cannot have a rank whose end it has not heard of.
TEST(NodePart, WhoLosesTheRootNamesItsOwnFailedRank) {
  for (const bool failed : {false, true}) {
    Part member = Part::running(Part::settings(false));
    model::WorkerExit exit;
    exit.host = "n1";
    exit.rank = 3;
    exit.exit_code = failed ? 1 : 0;
    exit.exception = failed ? "ValueError: bad shard 17" : "";
    member.on(WorkerEnded{exit});
    member.on(RootLost{{Loss::Kind::silent, "no message for 10.0 s"}});
    const auto told = std::ranges::find_if(
        member.done, [](const auto& one) { return std::holds_alternative<TellUser>(one); });
    ASSERT_NE(told, member.done.end());
    EXPECT_EQ(std::get<TellUser>(*told).text,
              std::string("n1: lost the root agent at : no message for 10.0 s; ") +
                  (failed ? "rank 3 on n1 ended with exit code 1: ValueError: bad shard 17 (the "
                            "root may not know that); "
                          : "") +
                  "stopping this node's workers");
  }
}

TEST(NodePart, ARepeatAfterTheRootsLossEndsTheGrace) {
  Part member = Part::running(Part::settings(false));
  member.on(RootLost{{Loss::Kind::closed, "the connection was closed"}});
  EXPECT_EQ(member.stops(), Graces{30s});
  member.signal_after(10ms, SIGTERM);  // the engine ends all nodes
  member.signal_after(10ms, SIGTERM);
  EXPECT_EQ(member.stops(), Graces{30s});
  member.signal_after(1s, SIGTERM);
  EXPECT_EQ(member.stops(), (Graces{30s, 0s}));
}

}  // namespace
}  // namespace toprun::run
