#include <gtest/gtest.h>

#include "decide/topology/files/formats.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string drawn(std::string_view text) {
  return text_of(parse_azslurm_file(text, "t"));
}

TEST(AzslurmFile, ReadsTreesAndTables) {
  EXPECT_EQ(drawn("Switch 5 (root)\n├── Switch 0 (2 nodes)\n│   ├── n1\n│   └── n2\n"
                  "└── Switch 4 (1 nodes)\n    └── n3\n"),
            "spine leaf\nn1 switch5/switch0 t:2\nn2 switch5/switch0 t:2\nn3 switch5/switch4 t:5\n");
  EXPECT_EQ(drawn("Switch 9 (root)\n└── Switch 5 (1 switches)\n    └── Switch 0 (1 nodes)\n"
                  "        └── n1\r\n"),
            "core spine leaf\nn1 switch9/switch5/switch0 t:3\n");
  EXPECT_EQ(
      drawn("block 1  : # of Nodes = 3\nClusterUUID + CliqueID : 5e\n|----|----|\n| n1 | n2 |\n"
            "|----|----|\n| n3 |\n\nblock 2  : # of Nodes = 1\n| n4 |\n"),
      "block\nn1 block1 t:1\nn2 block1 t:1\nn3 block1 t:1\nn4 block2 t:8\n");
}

TEST(AzslurmFile, RefusesWithThePlace) {
  for (const auto& [text, expected] : {
           std::pair{"Switch 5 (root)\n        ├── n1\n", "t:2:1: this is not a line of azslurm's"},
           {"Switch 5 (root)\n├── Switch 5 (1 nodes)\n", "t:2:1: switch switch5 appears twice"},
           {"n1\n",
            "t:1:1: this is not a line of azslurm's drawing of switches; give the complete output "
            "of azslurm"},
           {"block 1 : # of Nodes = 1\nn1\n", "t:2:1: this is not a row of azslurm's table"},
           {"block 1 : # of Nodes = 1\n| n1 | n1 |\n", "host n1 appears twice"},
       }) {
    EXPECT_TRUE(drawn(text).contains(expected)) << text << drawn(text);
  }
}

TEST(AzslurmFile, IsToldByItsFirstLine) {
  EXPECT_TRUE(looks_like_azslurm("Switch 5 (root)"));
  EXPECT_TRUE(looks_like_azslurm("block 1  : # of Nodes = 18"));
  for (const char* line : {"Switch\t65 \"S-2c5e\"\t# \"l0\" (x)", "Switch 5", "Switch x (root)",
                           "block 1", "block: b0"}) {
    EXPECT_FALSE(looks_like_azslurm(line)) << line;
  }
}

}  // namespace
}  // namespace toprun::topology
