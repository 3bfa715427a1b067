#include "machine/container/prepare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::container {
namespace {

namespace fs = std::filesystem;

// Makes its product by a shell's commands in place of a real runtime's.
class Shell final : public Runtime {
 public:
  Shell(fs::path path, std::string script) : path_(std::move(path)), script_(std::move(script)) {}
  std::string_view name() const override { return "shell"; }
  std::string_view program() const override { return "sh"; }
  Tried tried() const override { return Tried::run; }
  Result<void> accepts(std::string_view) const override { return {}; }
  std::optional<SourcedPath> product(const container::Run&, const Environment&) const override {
    return SourcedPath{path_.native(), "a test"};
  }
  std::vector<Command> creation(const container::Run&, const Node&,
                                const Environment& environment) const override {
    return {{{"sh", "-c", script_, "sh", path_.native()}, environment}};
  }
  Result<Command> command(const container::Run&, const Node&, const Environment&) const override {
    return Command{};
  }

 private:
  fs::path path_;
  std::string script_;
};

class Prepare : public testing::Test {
 protected:
  Prepare() {
    run.request.image = (folder.path() / "image.sif").native();
    run.request.name = "mine";
    std::ofstream(run.request.image) << "one";
  }
  std::string go(const std::string& script) {
    const Shell shell(folder.path() / "kept/mine", script);
    const auto done = prepare(shell, run, {.host = "n1"}, {{"PATH", "/usr/bin:/bin"}},
                              [&](const std::string& line) {
                                said.push_back(line);
                                note_waiting(line);
                              });
    return done ? "" : done.error().line();
  }
  void note_waiting(const std::string& line) const {
    if (line.contains("waiting")) std::ofstream(folder.path() / "kept/waits") << "";
  }
  TemporaryFolder folder;
  container::Run run;
  std::vector<std::string> said;
};

TEST_F(Prepare, MadeOnceAndUsedAgain) {
  EXPECT_EQ(go("mkdir \"$1\"; echo x >>\"$1/made\""), "");
  EXPECT_EQ(go("mkdir \"$1\"; echo x >>\"$1/made\""), "");
  EXPECT_EQ(fs::file_size(folder.path() / "kept/mine/made"), 2u);
  EXPECT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], fmt::format("n1: container mine: making {}/kept/mine (a test)",
                                 folder.path().native()));
}

TEST_F(Prepare, NothingWhereSomebodyElseCouldHavePutIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  const fs::path kept = folder.path() / "kept";
  fs::create_directories(kept / "mine");
  const auto why = [](const fs::path& path) {
    return fmt::format(
        "n1: container mine: {}: it belongs to user 1001, neither to you nor to root; set "
        "TOPRUN_CONTAINERS to a folder that belongs to you",
        path.native());
  };
  ASSERT_EQ(::chown((kept / "mine").c_str(), 1001, 1001), 0);
  EXPECT_EQ(go("exit 1"), why(kept / "mine"));
  fs::remove(kept / "mine");
  ASSERT_EQ(::chown(kept.c_str(), 1001, 1001), 0);
  EXPECT_EQ(go("exit 1"), why(kept));
}

TEST_F(Prepare, OfAnotherImageOrOneThatHasChanged) {
  EXPECT_EQ(go("mkdir \"$1\""), "");
  std::ofstream(run.request.image) << "another";
  EXPECT_TRUE(
      go("").contains("image.sif has changed since the container was made; choose another"));
  run.request.image = "docker://python";
  EXPECT_TRUE(go("").contains("n1: container mine: the container was made from /")) << go("");
}

TEST_F(Prepare, WithoutARecordItIsTheUsers) {
  fs::create_directories(folder.path() / "kept/mine");
  EXPECT_EQ(go("exit 1"), "");
}

TEST_F(Prepare, AFailedCommandIsExplainedOrQuoted) {
  const std::string quoted = go("echo oh >&2; echo dear >&2; exit 3");
  EXPECT_TRUE(quoted.starts_with(
      "n1: container mine: sh ended with code 3: dear; try this command by hand"))
      << quoted;
  const std::string explained = go("echo 'write: no space left on device' >&2; exit 1");
  EXPECT_TRUE(explained.contains("no space left on device; free some space")) << explained;
  EXPECT_EQ(go("mkdir \"$1\""), "");
}

TEST_F(Prepare, TwoAtOnceMakeItOnce) {
  std::string first;
  std::vector<std::string> said_by_other;
  // The one that makes it waits until the other says that it waits.
  const std::string script =
      "until [ -e \"${1%/*}/waits\" ]; do sleep 0.01; done; mkdir \"$1\" && echo x >>\"$1/made\"";
  std::thread other([&] {
    const Shell shell(folder.path() / "kept/mine", script);
    const auto done = prepare(shell, run, {.host = "n1"}, {{"PATH", "/usr/bin:/bin"}},
                              [&](const std::string& line) {
                                said_by_other.push_back(line);
                                note_waiting(line);
                              });
    first = done ? "" : done.error().line();
  });
  const std::string second = go(script);
  other.join();
  EXPECT_EQ(first + second, "");
  EXPECT_EQ(fs::file_size(folder.path() / "kept/mine/made"), 2u);
  const std::string all = join(said, "\n") + join(said_by_other, "\n");
  EXPECT_TRUE(all.contains("making") && all.contains("waiting")) << all;
}

TEST_F(Prepare, PlacesForMountsWhereItIsWritable) {
  run.request.writable = true;
  const fs::path file = folder.path() / "file";
  std::ofstream(file) << "";
  run.binds = {{folder.path().native(), "/opt/a"},
               {file.native(), "/opt/b/file"},
               {folder.path().native(), "/link/x"}};
  EXPECT_EQ(go("mkdir \"$1\"; ln -s \"${1%/*}/outside\" \"$1/link\""), "");
  EXPECT_TRUE(fs::is_directory(folder.path() / "kept/mine/opt/a"));
  EXPECT_TRUE(fs::is_regular_file(folder.path() / "kept/mine/opt/b/file"));
  EXPECT_FALSE(fs::exists(folder.path() / "kept/outside"));
}

}  // namespace
}  // namespace toprun::container
