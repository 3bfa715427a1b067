#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "observe/snapshot/board.h"

namespace toprun::snapshot {
namespace {

TEST(Step, IsReadOfALine) {
  const std::vector<std::pair<std::string, std::optional<std::uint64_t>>> cases = {
      {"step 230 loss 0.0043", 230},
      {"Step: 7", 7},
      {"global_step=12, lr=0.1", 12},
      {"[epoch 3][iter 41/500] loss 2.1", 41},
      {"iteration   100/ 500000 | consumed samples: 51200", 100},
      {"train:  23%|##3       | 230/1000 [00:41<02:17, 5.6it/s]", 230},
      {"steps/s 41", std::nullopt},
      {"step 0.5", std::nullopt},
      {"step time 41", std::nullopt},
      {"timestep", std::nullopt},
      {"wrote /data/2024/11 [ok]", std::nullopt},
      {"saved 3/4 shards", std::nullopt},
      {"step 99999999999999999999", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [line, step] : cases) EXPECT_EQ(step_in(line), step) << line;
}

}  // namespace
}  // namespace toprun::snapshot
