#include <gtest/gtest.h>

#include "node/output/lines.h"

namespace toprun::output {
namespace {

TEST(Filter, PicksLinesThatHoldANeedle) {
  struct Case {
    std::vector<std::string> needles;
    std::vector<std::string> given;
    std::string picked;
  };
  const std::vector<Case> cases = {
      {{"loss"}, {"step 1\nloss 3\nbye\n"}, "0:loss 3\n"},
      {{"loss", "bye"}, {"step 1\nloss 3\nbye\n"}, "0:loss 3\n0:bye\n"},
      {{"loss"}, {"a lo", "ss 3\nlos", "t\n"}, "0:a loss 3\n"},
      {{"%"}, {"1%\r2%\r\n\n"}, "0:1%\n0:2%\n"},
      {{"end"}, {"the end"}, "0:the end\n"},
      {{""}, {"a\n\nb"}, "0:a\n0:\n0:b\n"},
      {{"x"}, {std::string("a\0x\xff\n", 5)}, std::string("0:a\0x\xff\n", 7)},
      {{"Loss"}, {"loss\n"}, ""},
  };
  for (const Case& c : cases) {
    Filter filter(c.needles, "0:");
    std::string picked;
    for (const std::string& text : c.given) picked += filter.add(text);
    EXPECT_EQ(picked + filter.flush(), c.picked) << c.given[0];
  }
}

TEST(Filter, HoldsNoMoreThanTheLimit) {
  Filter filter({"x"}, "");
  std::size_t out = 0;
  for (int i = 0; i < 1000; ++i) out += filter.add(std::string(1000, 'x')).size();
  EXPECT_GE(out + Filter::longest_line_bytes, 1'000'000u);
}

}  // namespace
}  // namespace toprun::output
