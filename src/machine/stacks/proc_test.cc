#include "machine/stacks/proc.h"

#include <gtest/gtest.h>

namespace toprun::stacks {
namespace {

TEST(Proc, ReadsStat) {
  const auto stat = parse_stat(
      "4711 (a (b) c) D 1 4711 4711 0 -1 4194304 100 20 3 4 50 60 7 8 20 0 9 0 12345 1 2\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(*stat, (Stat{"a (b) c", 'D', 120, 7, 125, 15, 9, 2}));
}

TEST(Proc, RefusesWhatIsNoStat) {
  for (const char* text : {"", "4711", "4711 (a", "4711 )a( S 1", "4711 (a) S 1 2 3",
                           "4711 (a) SS 1 4711 4711 0 -1 4194304 100 20 3 4 50 60 7 8 20 0 9 0"}) {
    EXPECT_FALSE(parse_stat(text)) << text;
  }
}

TEST(Proc, FindsNumbersByTheirName) {
  const char* const io = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n";
  EXPECT_EQ(labelled_number(io, "rchar"), 323934931u);
  EXPECT_EQ(labelled_number(io, "syscw"), 632675u);
  EXPECT_EQ(labelled_number(io, "char"), std::nullopt);
  EXPECT_EQ(labelled_number("a:\t5 kB\n", "a"), std::nullopt);
  EXPECT_EQ(labelled_number("nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t4\n",
                            "voluntary_ctxt_switches"),
            4u);
}

TEST(Proc, KnowsTheIdWithinANamespace) {
  EXPECT_EQ(inner_id("Name:\tx\nNSpid:\t4711\nNSpgid:\t4711\n"), 4711);
  EXPECT_EQ(inner_id("NSpid:\t4711\t815\t7\n"), 7);
  EXPECT_EQ(inner_id("NSpid:\t\n"), std::nullopt);
  EXPECT_EQ(inner_id("NSpid:\t-1\n"), std::nullopt);
  EXPECT_EQ(inner_id("Name:\tx\n"), std::nullopt);  // a kernel before 4.1
}

TEST(Proc, ReadsMapsOfFiles) {
  const auto maps = parse_maps(
      "55d0c0a00000-55d0c0a01000 r--p 00000000 fe:00 1234   /usr/bin/my python3\n"
      "55d0c0a02000-55d0c0a04000 rw-p 00002000 fe:00 1234   /usr/bin/my python3 (deleted)\n"
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
      "7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0                [stack]\n"
      "nonsense /\n"
      "2-1 r--p 0 fe:00 1 /backwards\n");
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0], (Mapping{0x55d0c0a00000, 0x55d0c0a01000, 0, false, "/usr/bin/my python3"}));
  EXPECT_EQ(maps[1], (Mapping{0x55d0c0a02000, 0x55d0c0a04000, 0x2000, true,
                              "/usr/bin/my python3 (deleted)"}));
}

}  // namespace
}  // namespace toprun::stacks
