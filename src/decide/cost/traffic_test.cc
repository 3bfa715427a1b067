#include "decide/cost/traffic.h"

#include <gtest/gtest.h>

namespace toprun::cost {
namespace {

Layout layout_for(const std::string& text, int world) {
  return *layout_of(*parse_parallel(text), world);
}

TEST(ParseModel, Table) {
  struct Case {
    std::string text;
    double parameters;  // 0: an error
  };
  for (const auto& [text, parameters] : std::vector<Case>{{"70B", 70e9},
                                                          {"1.5T", 1.5e12},
                                                          {"350m", 350e6},
                                                          {"70", 0},
                                                          {"B", 0},
                                                          {"", 0},
                                                          {"-1B", 0},
                                                          {"0B", 0},
                                                          {"infB", 0},
                                                          {"nanB", 0},
                                                          {"8x7B", 0},
                                                          {"1e400B", 0}}) {
    const auto parsed = parse_model(text);
    EXPECT_EQ(parsed.has_value(), parameters > 0) << text;
    if (parsed) {
      EXPECT_DOUBLE_EQ(*parsed, parameters) << text;
    } else {
      EXPECT_EQ(parsed.error().line(), "--model " + text +
                                           ": not a valid number of parameters; "
                                           "write the number with M, B or T, as in 70B");
    }
  }
}

constexpr double gpt3 = 12.0 * 96 * 12'288 * 12'288;  // 96 layers of 12,288

TEST(Traffic, OfADenseModel) {
  // Two replicas take 2²¹ tokens each; a rank has half the layers and half of each.
  const Traffic traffic = traffic_of(layout_for("tp=2,pp=2", 8), gpt3, {});
  const double activations = 2.0 * 12'288 * (1 << 21) / 2;
  EXPECT_DOUBLE_EQ(traffic.of(Kind::tp), 4 * 2 * 0.5 * 48 * (2 * activations));
  EXPECT_DOUBLE_EQ(traffic.of(Kind::pp), 2 * activations);
  EXPECT_DOUBLE_EQ(traffic.of(Kind::dp), 6 * 0.5 * gpt3 / 4);
  EXPECT_DOUBLE_EQ(traffic.of(Kind::cp), 0);
  EXPECT_DOUBLE_EQ(traffic.of(Kind::ep), 0);
}

TEST(Traffic, OfPartsOfASequence) {
  const Traffic traffic = traffic_of(layout_for("cp=4", 8), gpt3, {});
  const double keys_and_values = 2 * (2.0 * 12'288 * (1 << 21) / 4) / 8;
  EXPECT_DOUBLE_EQ(traffic.of(Kind::cp), 3 * 3 * keys_and_values * 96);
  EXPECT_DOUBLE_EQ(traffic.of(Kind::dp), 6 * (7.0 / 8) * gpt3);
}

TEST(Traffic, OfExperts) {
  const Traffic traffic = traffic_of(layout_for("ep=4", 8), gpt3 * 17 / 3, {});
  const double activations = 2.0 * 12'288 * (1 << 19);
  EXPECT_DOUBLE_EQ(traffic.of(Kind::ep), 4 * 0.75 * 2 * activations * 96);
  EXPECT_NEAR(traffic.of(Kind::dp) / (6 * (7.0 / 8) * gpt3 / 3), 1, 1e-12);
  EXPECT_NEAR(traffic.of(Kind::edp) / (6 * 0.5 * gpt3 * 16 / 3 / 4), 1, 1e-12);
}

TEST(Traffic, AReplicaHasAtLeastASequence) {
  const Traffic few = traffic_of(layout_for("pp=2", 2048), gpt3, {});
  const Traffic many = traffic_of(layout_for("pp=2", 8192), gpt3, {});
  EXPECT_DOUBLE_EQ(few.of(Kind::pp), many.of(Kind::pp));
}

TEST(Traffic, WhatIsToldGoesBefore) {
  const Traffic traffic = traffic_of(layout_for("tp=2,pp=2", 8), gpt3, {{Kind::dp, 5.0}});
  EXPECT_DOUBLE_EQ(traffic.of(Kind::dp), 5);
  EXPECT_GT(traffic.of(Kind::tp), 5);
}

// "0-1:4" per pair of slots, in the order of the slots.
std::string pairs_text(const std::string& parallel, const std::vector<int>& processes, Kind kind) {
  int world = 0;
  for (const int count : processes) world += count;
  Traffic traffic;
  traffic.bytes.fill(1);
  const std::array kinds = {kind};
  const auto graph = graph_of(layout_for(parallel, world), traffic, kinds,
                              slots_of_ranks(processes), processes.size());
  std::string text;
  for (std::size_t s = 0; s < graph->slots(); ++s) {
    for (const Graph::Edge& edge : graph->of(s)) {
      if (edge.to > s) {
        text += fmt::format("{}{}-{}:{:g}", text.empty() ? "" : " ", s, edge.to, edge.bytes);
      }
    }
  }
  return text;
}

TEST(Graph, IsWhatTheGroupsSendBetweenNodes) {
  struct Case {
    std::string parallel;
    std::vector<int> processes;
    Kind kind;
    std::string pairs;
  };
  for (const auto& [parallel, processes, kind, pairs] : std::vector<Case>{
           {"tp=2,pp=2", {2, 2, 2, 2}, Kind::tp, ""},
           {"tp=2,pp=2", {2, 2, 2, 2}, Kind::dp, "0-1:4 2-3:4"},  // two rings with two pairs each
           {"tp=2,pp=2", {2, 2, 2, 2}, Kind::pp, "0-2:2 1-3:2"},
           {"pp=4", {1, 1, 1, 1}, Kind::pp, "0-1:1 1-2:1 2-3:1"},
           {"dp=4", {1, 1, 1, 1}, Kind::dp, "0-1:1 0-3:1 1-2:1 2-3:1"},
           {"ep=3", {1, 1, 1}, Kind::ep, "0-1:1 0-2:1 1-2:1"},  // two, with half of it each
           {"ep=4", {2, 0, 1, 1}, Kind::ep, "0-2:1.33333 0-3:1.33333 2-3:0.666667"},
           {"dp=4", {3, 1}, Kind::dp, "0-1:2"},
       }) {
    EXPECT_EQ(pairs_text(parallel, processes, kind), pairs) << parallel << name_of(kind);
  }
}

TEST(Graph, IsNotMadeOfTooManyPairs) {
  const std::vector<int> processes(4096, 1);
  const std::array kinds = {Kind::ep};
  EXPECT_FALSE(graph_of(layout_for("ep=4096", 4096), {}, kinds, slots_of_ranks(processes), 4096));
  EXPECT_TRUE(graph_of(layout_for("ep=64", 4096), {}, kinds, slots_of_ranks(processes), 4096));
}

}  // namespace
}  // namespace toprun::cost
