#include "cli/options/plan_options.h"

#include <gtest/gtest.h>

namespace toprun::options {
namespace {

using cost::Kind;

TEST(PlanOptions, AreReadTogether) {
  EXPECT_FALSE(parse_plan({})->has_value());
  const auto plan = parse_plan({"tp=8,pp=4", "7B", "dp=2G, edp=512M", {"rack=400", "host=100:3"}});
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ((*plan)->parallel.sizes, (std::map<Kind, int>{{Kind::tp, 8}, {Kind::pp, 4}}));
  EXPECT_EQ((*plan)->parameters, 7e9);
  EXPECT_EQ((*plan)->traffic,
            (std::map<Kind, double>{{Kind::dp, 2147483648.0}, {Kind::edp, 536870912.0}}));
  EXPECT_EQ((*plan)->links.at("rack").gbps, 400);
  EXPECT_EQ((*plan)->links.at("host").latency_us, 3);
}

TEST(PlanOptions, Refuse) {
  struct Case {
    PlanOptions options;
    std::string message;
  };
  const std::string form =
      "write KIND=SIZE, where KIND is tp, cp, ep, etp, dp, edp or pp, as in dp=2G,tp=512M";
  for (const auto& [options, message] : std::vector<Case>{
           {{"", {}, {}, {}},
            "--parallel : this kind has no size; write KIND=SIZE, as in tp=8,pp=4"},
           {{{}, "7B", {}, {}},
            "--model: it needs --parallel; add --parallel "
            "tp=8,pp=4 or leave this option out"},
           {{{}, {}, "dp=1G", {}},
            "--traffic: it needs --parallel; add "
            "--parallel tp=8,pp=4 or leave this option out"},
           {{{}, {}, {}, {"rack"}},
            "--link rack: it names no level; write LEVEL=GBPS or LEVEL=GBPS:MICROSECONDS, as in "
            "rack=400 or rack=400:2"},
           {{"tp=8", "7", {}, {}},
            "--model 7: not a valid number of parameters; write the number with M, B or T, as in "
            "70B"},
           {{"tp=8", {}, "dp", {}},
            "--traffic dp: each entry must be a kind of parallelism and its number of bytes; " +
                form},
           {{"tp=8", {}, "xp=1G", {}},
            "--traffic xp=1G: each entry must be a kind of parallelism and its number of bytes; " +
                form},
           {{"tp=8", {}, "dp=1G,dp=2G", {}}, "--traffic dp=2G: dp is given twice; give it once"},
           {{"tp=8", {}, "dp=2GB", {}},
            "--traffic 2GB: must be a number of bytes, at least 1; K, M or G may follow it, as in "
            "64M"},
       }) {
    const auto plan = parse_plan(options);
    ASSERT_FALSE(plan) << message;
    EXPECT_EQ(plan.error().line(), message);
    EXPECT_EQ(plan.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::options
