#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/os/os_testing.h"
#include "cli/verbs/verbs.h"

// Helpers that the tests of `toprun topo` share.
namespace toprun::cli {

namespace fs = std::filesystem;

struct Outcome {
  int code = 0;
  std::string out, err;
};

class Topo : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  static Outcome run(const std::vector<std::string>& arguments, const Environment& env = {}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    std::vector<std::string> argv = {"toprun", "topo"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    outcome.code = run_verb(argv, env).value();
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

// A sample topology with racks of the nodes 0 to 7.
inline std::string seed_lines() {
  const std::string racks = "bdacefbf";
  std::string text;
  for (std::size_t i = 0; i < racks.size(); ++i) {
    text += fmt::format("n{} /{}/{}/{}\n", i, std::string(4, 'C'), std::string(4, racks[i]),
                        std::string(4, static_cast<char>('0' + i)));
  }
  return text;
}

}  // namespace toprun::cli
