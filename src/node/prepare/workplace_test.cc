#include "node/prepare/workplace.h"

#include <gtest/gtest.h>

namespace toprun::prepare {
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

TEST(Move, AVenvIsUsedAtAnotherPath) {
  Workplace place{
      Environment({{"PATH", "/env/bin:/env2/bin:/usr/bin:/env"}, {"VIRTUAL_ENV", "/env"}}),
      {"/env/bin/python", "-u", "/env/train.py"},
      "--venv"};
  move(place, "/env", "/tmp/copy");
  const std::vector<std::string> program = {"/tmp/copy/bin/python", "-u", "/env/train.py"};
  EXPECT_EQ(place.program, program);
  EXPECT_EQ(place.environment.get("PATH"), "/tmp/copy/bin:/env2/bin:/usr/bin:/tmp/copy");
  EXPECT_EQ(place.environment.get("VIRTUAL_ENV"), "/tmp/copy");
}

}  // namespace
}  // namespace toprun::prepare
