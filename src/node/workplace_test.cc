#include "node/workplace.h"

#include <gtest/gtest.h>

namespace toprun::node {
namespace {

TEST(PathsAmong, TheWordsOfACommandLine) {
  using Words = std::vector<std::string>;
  const std::vector<std::pair<Words, Words>> cases = {
      {{}, {}},
      {{"/data", "./out", "../x"}, {"/data", "./out", "../x"}},
      {{"--data=/data", "-o/x", "--data", "/more"}, {"/data", "/more"}},
      {{"data", "name=value", "a/b", "https://host/x", "--lr=1e-3", "."}, {}},
      {{"--list=/a,/b"}, {"/a,/b"}},
      {{"K=/not-an-option"}, {}},
  };
  for (const auto& [words, paths] : cases) EXPECT_EQ(paths_among(words), paths);
}

}  // namespace
}  // namespace toprun::node
