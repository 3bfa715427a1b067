#include "run/model/phases.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace toprun::model {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Lines = std::vector<std::string>;

TEST(Phases, TheSlowestAndTheMedian) {
  EXPECT_FALSE(spread_of({}));
  const std::vector<Share> one = {{5ms, 0, "n0"}};
  EXPECT_EQ(spread_of(one)->slowest, 5ms);
  EXPECT_EQ(spread_of(one)->median, 5ms);
  const std::vector<Share> many = {{3s, 0, "n0"}, {41s, 17, "n5"}, {2s, 2, "n1"}, {41s, 3, "n1"}};
  const Spread spread = *spread_of(many);
  EXPECT_EQ(spread.counted, 4u);
  EXPECT_EQ(spread.median, 3s) << "the lower of the two in the middle";
  EXPECT_EQ(spread.slowest, 41s);
  EXPECT_EQ(spread.rank, 17) << "the first of two that are equally slow";
  EXPECT_EQ(spread.node, "n5");
}

TEST(Phases, TheSlowestByName) {
  Spreads spreads;
  EXPECT_EQ(slowest_lines(spreads), Lines());
  spreads.join = {8, 1s, 12s, std::nullopt, "n5"};
  spreads.warm = {8, 3s, 40s, std::nullopt, "n6"};
  spreads.prefetch = {8, 1s, 9s, std::nullopt, "n7"};
  spreads.spawn = {1, 20ms, 20ms, std::nullopt, "n5"};
  spreads.import = {64, 3s, 41s, 17, "n5"};
  spreads.first_collective = {64, 3s, 90s, std::nullopt, "n5"};
  EXPECT_EQ(slowest_lines(spreads),
            Lines({"n5 took 12.0 s to join (median 1.0 s)",
                   "n6 took 40.0 s to import for --warm (median 3.0 s)",
                   "n7 took 9.0 s to read what its ranks import (median 1.0 s)",
                   "rank 17 on n5 took 41.0 s to import (median 3.0 s)",
                   "one rank on n5 took 1 min 30 s from the store to its first collective (median "
                   "3.0 s)"}));
  spreads = {};
  spreads.import = {64, 3s, 41s, std::nullopt, ""};
  EXPECT_EQ(slowest_lines(spreads), Lines({"one rank took 41.0 s to import (median 3.0 s)"}));
  spreads.import = {1, 3s, 3s, 0, "n0"};
  EXPECT_EQ(slowest_lines(spreads), Lines({"rank 0 on n0 took 3.0 s to import"}));
}

TEST(Phases, OneThatTookAsLongAsTheOthersIsNotSlow) {
  const auto lines = [](std::chrono::milliseconds median, std::chrono::milliseconds slowest) {
    Spreads spreads;
    spreads.import = {4, median, slowest, 2, "n1"};
    return slowest_lines(spreads).size();
  };
  EXPECT_EQ(lines(4200ms, 4240ms), 0u);
  EXPECT_EQ(lines(60s, 62s), 0u);
  EXPECT_EQ(lines(4s, 5s), 1u);
  EXPECT_EQ(lines(100ms, 180ms), 0u);
  EXPECT_EQ(lines(100ms, 210ms), 1u);
}

TEST(Phases, AreReadAsTheyWereWritten) {
  Spreads spreads;
  spreads.import = {64, 3s, 41s, 17, "n5"};
  spreads.first_collective = {64, 3s, 90s, std::nullopt, ""};
  const json written = slowest_json(spreads);
  EXPECT_EQ(written.at("join"), nullptr);
  EXPECT_EQ(
      written.at("import"),
      json({{"node", "n5"}, {"rank", 17}, {"ms", 41'000}, {"median_ms", 3'000}, {"counted", 64}}));
  EXPECT_EQ(slowest_json(spreads_in(written)), written);
  for (const char* text : {"null", "3", "{}", R"({"import": 3})", R"({"import": {"ms": 3}})",
                           R"({"import": {"ms": "x", "counted": 1, "median_ms": 1, "rank": 1}})"}) {
    EXPECT_EQ(slowest_lines(spreads_in(json::parse(text))), Lines()) << text;
  }
}

TEST(Phases, WhoIsAwaited) {
  for (const auto& [awaited, text] : std::vector<std::pair<Awaited, std::string>>{
           {{true, 62, 64, 17, "n5"},
            "62 of 64 ranks have reached the store, not rank 17 on n5 and 1 other"},
           {{false, 63, 64, 17, "n5"},
            "63 of 64 ranks have reached their first collective, not rank 17 on n5"},
           {{true, 61, 64, 17, ""},
            "61 of 64 ranks have reached the store, not rank 17 and 2 others"},
           {{true, 61, 64, std::nullopt, ""}, "61 of 64 ranks have reached the store"}}) {
    EXPECT_EQ(awaited_text(awaited), text);
    const auto read = awaited_in(awaited_json(awaited));
    ASSERT_TRUE(read);
    EXPECT_EQ(awaited_text(*read), text);
  }
  EXPECT_EQ(awaited_json(std::nullopt), nullptr);
  for (const char* wrong : {"null", "3", R"({"phase": "import", "came": 4, "of": 4})",
                            R"({"came": 3, "of": 4})", R"({"phase": "import", "of": 4})"}) {
    EXPECT_FALSE(awaited_in(json::parse(wrong))) << wrong;
  }
}

}  // namespace
}  // namespace toprun::model
