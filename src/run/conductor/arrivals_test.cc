#include "run/conductor/arrivals.h"

#include <gtest/gtest.h>

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::Arrivals;

constexpr SteadyTime start{1h};
constexpr SteadyTime reported = start + 60s;

// Ranks 0 and 1 on n0, beside the store; 2 and 3 on n1, which start a second later.
std::vector<MemberRanks> two_nodes() {
  return {{"n1", {"10.0.0.2", "fd00::2"}, 2, 2, {71, 72}, start + 1s, false},
          {"n0", {"10.0.0.1"}, 0, 2, {71, 73}, start, true}};
}

struct Named {
  std::optional<int> rank;
  std::string node;
  bool operator==(const Named&) const = default;
};
// Whom a single process is taken for.
std::optional<Named> taken_for(const std::string& address, const Arrivals::Rank& process,
                               const std::vector<MemberRanks>& members = two_nodes()) {
  const Meeting meeting = meeting_of({{{address, {process}}}}, members, reported);
  EXPECT_EQ(meeting.first_joined, reported - process.joined_age);
  EXPECT_FALSE(meeting.all_joined);
  if (!meeting.import) return std::nullopt;
  return Named{meeting.import->rank, meeting.import->node};
}

TEST(Arrivals, WhichRankAProcessIs) {
  EXPECT_EQ(taken_for("", {71, {}, 1s, {}}), Named(0, "n0"));
  EXPECT_EQ(taken_for("", {73, {}, 1s, {}}), Named(1, "n0"));
  EXPECT_EQ(taken_for("10.0.0.1", {73, {}, 1s, {}}), Named(1, "n0"));
  EXPECT_EQ(taken_for("fd00::2", {71, {}, 1s, {}}), Named(2, "n1"));
  EXPECT_EQ(taken_for("10.0.0.2", {99, 3, 1s, {}}), Named(3, "n1")) << "a key names it";
  EXPECT_EQ(taken_for("10.0.0.2", {99, {}, 1s, {}}), Named(std::nullopt, "n1")) << "a child";
  EXPECT_EQ(taken_for("10.0.0.2", {0, {}, 1s, {}}), Named(std::nullopt, "n1")) << "PyTorch 2.5";
  EXPECT_EQ(taken_for("192.168.7.7", {72, {}, 1s, {}}), Named(3, "n1")) << "through a gateway";
  EXPECT_EQ(taken_for("192.168.7.7", {71, {}, 1s, {}}), std::nullopt) << "on both hosts";
  EXPECT_EQ(taken_for("192.168.7.7", {99, {}, 1s, {}}), std::nullopt);
  EXPECT_EQ(taken_for("10.0.0.2", {71, 4, 1s, {}}), std::nullopt) << "there is no rank 4";
}

// Ranks in place are members of their own, and all those of a host have its addresses.
TEST(Arrivals, RanksInPlaceShareAHost) {
  const std::vector<MemberRanks> ranks = {{"n0", {"10.0.0.1"}, 0, 1, {71}, start, true},
                                          {"n0", {"10.0.0.1"}, 1, 1, {72}, start, false}};
  EXPECT_EQ(taken_for("", {72, {}, 1s, {}}, ranks), Named(1, "n0"));
  EXPECT_EQ(taken_for("10.0.0.1", {72, {}, 1s, {}}, ranks), Named(1, "n0"));
}

TEST(Arrivals, NobodyIsWhere) {
  EXPECT_EQ(taken_for("", {71, {}, 1s, {}}, {}), std::nullopt);
}

TEST(Arrivals, HowLongEachTook) {
  const Arrivals all = {{{"", {{71, {}, 57s, 20s}, {73, {}, 56s, 20s}}},
                         {"10.0.0.2", {{71, {}, 18s, 17s}, {72, {}, 55s, 5s}}}}};
  const Meeting meeting = meeting_of(all, two_nodes(), reported);
  EXPECT_EQ(meeting.first_joined, start + 3s);
  EXPECT_EQ(meeting.all_joined, start + 42s);
  EXPECT_EQ(meeting.all_met, start + 55s);
  EXPECT_EQ(meeting.import->slowest, 41s) << "since its own node's start";
  EXPECT_EQ(meeting.import->rank, 2);
  EXPECT_EQ(meeting.import->node, "n1");
  EXPECT_EQ(meeting.import->median, 4s);
  EXPECT_EQ(meeting.import->counted, 4u);
  EXPECT_EQ(meeting.first_collective->slowest, 50s);
  EXPECT_EQ(meeting.first_collective->rank, 3);
  EXPECT_EQ(meeting.first_collective->median, 36s);

  Arrivals some = all;
  some.hosts[0].ranks[1].met_age.reset();
  EXPECT_TRUE(meeting_of(some, two_nodes(), reported).all_joined);
  EXPECT_FALSE(meeting_of(some, two_nodes(), reported).all_met);
  some.hosts.pop_back();
  EXPECT_FALSE(meeting_of(some, two_nodes(), reported).all_joined);
}

TEST(Arrivals, WhoIsAwaited) {
  const auto awaited = [](std::vector<Arrivals::Rank> on_n0, std::vector<Arrivals::Rank> on_n1) {
    const Arrivals arrivals = {{{"", std::move(on_n0)}, {"10.0.0.2", std::move(on_n1)}}};
    const auto found = meeting_of(arrivals, two_nodes(), reported).awaited;
    return found ? model::awaited_text(*found) : "nobody";
  };
  const Arrivals::Rank joined_71 = {71, {}, 9s, {}};
  const Arrivals::Rank joined_72 = {72, {}, 9s, {}};
  const Arrivals::Rank joined_73 = {73, {}, 9s, {}};
  const Arrivals::Rank unknown = {99, {}, 9s, {}};
  const Arrivals::Rank met_71 = {71, {}, 9s, 8s};
  const Arrivals::Rank met_73 = {73, {}, 9s, 8s};
  EXPECT_EQ(awaited({}, {}), "nobody") << "the script may not use the store";
  EXPECT_EQ(awaited({joined_71, joined_73}, {joined_72}),
            "3 of 4 ranks have reached the store, not rank 2 on n1");
  EXPECT_EQ(awaited({joined_73}, {joined_72}),
            "2 of 4 ranks have reached the store, not rank 0 on n0 and 1 other");
  EXPECT_EQ(awaited({joined_71, unknown}, {joined_72}), "3 of 4 ranks have reached the store");
  EXPECT_EQ(awaited({joined_71, joined_71}, {joined_72}), "3 of 4 ranks have reached the store");
  EXPECT_EQ(awaited({joined_71, joined_73}, {joined_71, joined_72}), "nobody")
      << "they may have no collective";
  EXPECT_EQ(awaited({met_71, met_73}, {joined_72, joined_71}),
            "2 of 4 ranks have reached their first collective, not rank 2 on n1 and 1 other");
  EXPECT_EQ(awaited({met_71, unknown}, {met_71, met_73}),
            "3 of 4 ranks have reached their first collective");
}

TEST(Arrivals, WhatTookLessThanNothingTookNone) {
  const Arrivals early = {{{"10.0.0.2", {{71, {}, 61s, {}}}}}};
  EXPECT_EQ(meeting_of(early, two_nodes(), reported).import->slowest, 0ms);
}

}  // namespace
}  // namespace toprun::run
