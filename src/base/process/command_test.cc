#include "base/process/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "base/process/child.h"

namespace toprun::process {
namespace {

using namespace std::chrono_literals;

const Environment usual_path = {{"PATH", "/usr/bin:/bin"}};

TEST(Process, GivesWhatTheCommandPrints) {
  EXPECT_EQ(output_of({"sh", "-c", "echo $X; echo noise >&2"},
                      {{"PATH", "/usr/bin:/bin"}, {"X", "y"}}, 60s),
            "y\n");
}

TEST(Process, WaitsForACommandThatClosedItsOutputs) {
  EXPECT_EQ(output_of({"sh", "-c", "echo a; exec >&- 2>&-; sleep 0.1"}, usual_path, 60s), "a\n");
}

TEST(Process, GivesTheCodeAndBothStreamsOfACommandThatFailed) {
  const std::string input(1 << 20, 'x');  // more than a pipe holds
  const auto finished = run({"sh", "-c", "wc -c; echo no >&2; exit 7"}, usual_path, 60s, input);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out, "1048576\n");
  EXPECT_EQ(finished->err, "no\n");
  EXPECT_EQ(finished->code, 7);
  EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}, usual_path, 60s)->code, 137);
}

TEST(Process, SaysWhyACommandFailed) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"echo 'Connection refused' >&2; exit 1", "failed: Connection refused"},
      {"exit 3", "failed: exit code 3"},
      {"kill -9 $$", "failed: killed by signal 9"},
  };
  for (const auto& [script, expected] : rows) {
    const auto output = output_of({"sh", "-c", script}, usual_path, 60s);
    ASSERT_FALSE(output) << script;
    EXPECT_NE(output.error().line().find(expected), std::string::npos) << output.error().line();
  }
  const auto missing = output_of({"no-such-program"}, usual_path, 60s);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().line(), "cannot run `no-such-program`: no no-such-program in PATH");
}

TEST(Process, KillsACommandThatDoesNotAnswer) {
  // The second one holds the pipe through a child of its own.
  for (const char* script : {"sleep 1000", "sleep 1000 & exit 0", "exec >&- 2>&-; sleep 1000"}) {
    const auto output = output_of({"sh", "-c", script}, usual_path, 50ms);
    ASSERT_FALSE(output) << script;
    EXPECT_NE(output.error().line().find("50 ms"), std::string::npos) << output.error().line();
  }
}

TEST(Process, ACommandThatIsToldMayLeaveSomethingBehind) {
  // It would hold the pipe for longer than the limit.
  const auto left = tell({"sh", "-c", "cat; setsid sleep 100 & echo done >&2; exit 3"}, usual_path,
                         60s, "word\n");
  ASSERT_TRUE(left) << left.error().line();
  EXPECT_EQ(std::tie(left->code, left->out, left->err),
            std::tuple(3, std::string("word\n"), std::string("done\n")));
  const auto chatty = tell({"sh", "-c", "head -c 100000000 /dev/zero"}, usual_path, 60s, "");
  ASSERT_TRUE(chatty) << chatty.error().line();
  EXPECT_EQ(chatty->code, 0);
  EXPECT_EQ(chatty->out.size(), max_reported_bytes);
}

TEST(Process, AProgramIsAFileThatCanBeRun) {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& name) { return (folder.path() / name).string(); };
  std::filesystem::create_directories(folder.path() / "first/tool");  // a folder can be entered
  std::filesystem::create_directories(folder.path() / "second");
  std::ofstream(at("second/tool")) << "#!/bin/sh\n";
  std::ofstream(at("second/text")) << "text";
  std::filesystem::permissions(at("second/tool"), std::filesystem::perms::owner_all);
  const Environment both = {{"PATH", at("first") + ":" + at("second") + "/"}};
  EXPECT_EQ(find_program("tool", both), at("second/tool"));
  EXPECT_EQ(find_program("text", both), std::nullopt);
  EXPECT_EQ(find_program("", both), std::nullopt);
  EXPECT_EQ(find_program(at("second/tool"), {}), at("second/tool"));
  EXPECT_EQ(find_program(at("first/tool"), {}), std::nullopt);
  EXPECT_EQ(find_program(at("none"), {}), std::nullopt);
}

TEST(Process, OnePathIsSearchedWhereNoneIsSet) {
  const auto looked = [](const Environment& environment) {
    std::string all;
    find_program("tool", environment, [&](const std::string& file) {
      all += file + " ";
      return false;
    });
    return all;
  };
  EXPECT_EQ(looked({}), "/usr/local/bin/tool /usr/bin/tool /bin/tool ");
  EXPECT_EQ(looked({{"PATH", ""}}), looked({}));
  EXPECT_EQ(looked({{"PATH", "/a::/b/"}}), "/a/tool ./tool /b/tool ");
}

}  // namespace
}  // namespace toprun::process
