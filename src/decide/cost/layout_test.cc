#include "decide/cost/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text/text.h"

namespace toprun::cost {
namespace {

// "0,1 2,3": groups separated by blanks.
std::string groups_text(const Layout& layout, Kind kind) {
  const Groups groups = groups_of(layout, kind);
  std::string text;
  for (std::size_t g = 0; g < groups.bases.size(); ++g) {
    for (std::size_t i = 0; i < groups.offsets.size(); ++i) {
      text += fmt::format("{}{}", i > 0 ? "," : (g > 0 ? " " : ""), groups.rank(g, i));
    }
  }
  return text;
}

Result<Layout> layout(const std::string& text, int world) {
  const auto parallel = parse_parallel(text);
  if (!parallel) return std::unexpected(parallel.error());
  return layout_of(*parallel, world);
}

TEST(Layout, GroupsAreMegatrons) {
  struct Case {
    std::string parallel;
    int world;
    Kind kind;
    std::string groups;
  };
  // The first three come from the example in Megatron's own description of its groups.
  for (const auto& [parallel, world, kind, groups] : std::vector<Case>{
           {"tp=2,pp=4", 16, Kind::tp, "0,1 2,3 4,5 6,7 8,9 10,11 12,13 14,15"},
           {"tp=2,pp=4", 16, Kind::dp, "0,2 1,3 4,6 5,7 8,10 9,11 12,14 13,15"},
           {"tp=2,pp=4", 16, Kind::pp, "0,4,8,12 1,5,9,13 2,6,10,14 3,7,11,15"},
           {"tp=2,cp=2,pp=2", 16, Kind::cp, "0,2 1,3 4,6 5,7 8,10 9,11 12,14 13,15"},
           {"tp=2,cp=2,pp=2", 16, Kind::dp, "0,2,4,6 1,3,5,7 8,10,12,14 9,11,13,15"},
           {"tp=2,cp=2,pp=2", 16, Kind::pp, "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15"},
           {"tp=2,ep=2,pp=2", 16, Kind::ep, "0,2 1,3 4,6 5,7 8,10 9,11 12,14 13,15"},
           {"tp=2,ep=2,pp=2", 16, Kind::edp, "0,4 1,5 2,6 3,7 8,12 9,13 10,14 11,15"},
           {"tp=2,cp=2,ep=4,pp=2", 16, Kind::ep, "0,2,4,6 1,3,5,7 8,10,12,14 9,11,13,15"},
           {"tp=4,ep=4,etp=1", 8, Kind::ep, "0,1,2,3 4,5,6,7"},
           {"tp=4,ep=4,etp=1", 8, Kind::edp, "0,4 1,5 2,6 3,7"},
           {"tp=2,dp=2,pp=2,order=tp-pp-dp", 8, Kind::dp, "0,4 1,5 2,6 3,7"},
           {"tp=2,dp=2,pp=2,order=tp-pp-dp", 8, Kind::pp, "0,2 1,3 4,6 5,7"},
           {"TP=2, pp=2, order=PP-TP", 4, Kind::tp, "0,2 1,3"},
       }) {
    const auto made = layout(parallel, world);
    ASSERT_TRUE(made) << parallel << made.error().line();
    EXPECT_EQ(groups_text(*made, kind), groups) << parallel << " " << name_of(kind);
  }
}

TEST(Layout, KindsAreThoseThatSend) {
  const auto kinds = [](const std::string& text, int world) {
    std::string names;
    for (const Kind kind : kinds_of(*layout(text, world))) {
      (names += names.empty() ? "" : " ") += name_of(kind);
    }
    return names;
  };
  EXPECT_EQ(kinds("tp=8,pp=2", 32), "tp dp pp");
  EXPECT_EQ(kinds("tp=8,cp=2,pp=2", 32), "tp cp dp pp");
  EXPECT_EQ(kinds("tp=8,cp=2,pp=2,ep=2", 64), "tp cp ep dp edp pp");
  EXPECT_EQ(kinds("tp=8,ep=4,etp=2", 32), "tp ep etp dp edp");
  EXPECT_EQ(kinds("tp=4,ep=4,etp=1", 4), "tp ep");
  EXPECT_EQ(kinds("tp=1", 1), "");
}

TEST(Layout, Refuses) {
  struct Case {
    std::string parallel;
    std::string message;
  };
  for (const auto& [parallel, message] : std::vector<Case>{
           {"", "--parallel : this kind has no size; write KIND=SIZE, as in tp=8,pp=4"},
           {"tp8", "--parallel tp8: this kind has no size; write KIND=SIZE, as in tp=8,pp=4"},
           {"tp=8,", "--parallel : this kind has no size; write KIND=SIZE, as in tp=8,pp=4"},
           {"tpp=8", "--parallel tpp=8: unknown kind of parallelism; did you mean tp?"},
           {"fsdp2=8",
            "--parallel fsdp2=8: unknown kind of parallelism; choose one of: tp, cp, ep, "
            "etp, "
            "dp, pp, order"},
           {"tp=0", "--parallel tp=0: a size is a whole number from 1 to 2147483647"},
           {"tp=-1", "--parallel tp=-1: a size is a whole number from 1 to 2147483647"},
           {"tp=x", "--parallel tp=x: a size is a whole number from 1 to 2147483647"},
           {"tp=2147483648",
            "--parallel tp=2147483648: a size is a whole number from 1 to 2147483647"},
           {"tp=2,tp=2", "--parallel tp=2: tp is given twice; give it once"},
           {"order=tp,order=tp", "--parallel order=tp: order is given twice; give it once"},
           {"order=tp-tp", "--parallel order=tp-tp: tp appears twice; name it once"},
           {"order=",
            "--parallel order=: \"\" is not a part of an order; write the order as in "
            "order=tp-cp-ep-dp-pp"},
           {"order=tp-etp",
            "--parallel order=tp-etp: \"etp\" is not a part of an order; write the order as in "
            "order=tp-cp-ep-dp-pp"},
           {std::string(257, 't'),
            "--parallel tttttttttttttttt: the text has 257 bytes; at most 256 bytes are read"},
           {"tp=8,pp=3",
            "--parallel tp=8,pp=3: the product of these sizes, 24, does not divide the job's "
            "number of ranks, 64; "
            "change a size, --nproc-per-node or the number of nodes"},
           {"tp=8,pp=2,dp=3",
            "--parallel tp=8,dp=3,pp=2: the sizes make 48 ranks, and the number of the job's "
            "ranks is 64; dp=4 "
            "fits"},
           {"tp=2000000000,cp=2000000000,pp=2000000000",
            "--parallel tp=2000000000,cp=2000000000,pp=2000000000: the product of these sizes, "
            "4000000000000000000, does not divide the job's number of ranks, 64; change a size, "
            "--nproc-per-node or the number of nodes"},
           {"tp=8,ep=3",
            "--parallel etp=8,ep=3: the product of these sizes, 24, does not divide the job's "
            "number of ranks, 64; "
            "change ep or etp"},
           {"tp=8,order=tp-pp",
            "--parallel order: dp is missing in the order, although its size is 8; list every kind "
            "with a size "
            "above 1"},
           {"tp=8,ep=2,order=tp-dp-pp",
            "--parallel order: ep is missing in the order, although its size is 2; list every kind "
            "with a size "
            "above 1"},
           {"tp=2,cp=2,pp=2,order=tp-cp-ep-pp-dp",
            "--parallel order: in this order the experts' layers would get a different pipeline "
            "from the other layers; put pp last in the order"},
       }) {
    const auto made = layout(parallel, 64);
    ASSERT_FALSE(made) << parallel;
    EXPECT_EQ(made.error().line(), message);
    EXPECT_EQ(made.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::cost
