#include "node/plan/setup/setup_record.h"

#include <gtest/gtest.h>

#include "base/os/os_testing.h"

namespace toprun::setup {
namespace {

Record complete() {
  Record record;
  record.state = State::complete;
  record.job = "17";
  record.host = "n0";
  record.begun = "2026-11-22T12:00:00.000Z";
  record.ended = "2026-11-22T12:01:00.000Z";
  record.architecture = "x86_64";
  record.modules = {"cuda/12.4", "nccl/2.20"};
  record.packages = {"-r r.txt", "a \"quoted\"\nname"};
  record.imports = {{"torch", "2.13.0"}, {"demo", ""}};
  return record;
}

TEST(Record, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_record(folder.path()).value());
  const Record record = complete();
  ASSERT_TRUE(write_record(folder.path(), record));
  const auto read = read_record(folder.path());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(text_of(**read), text_of(record));
  EXPECT_EQ((*read)->packages, record.packages);
}

TEST(Record, ABrokenOneIsAnErrorInOneLine) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "f: is not a record of toprun's (toprun.setup/1)"},
      {"[]", "f: is not a record of toprun's (toprun.setup/1)"},
      {"{\"schema\": 1}", "f: is not a record of toprun's (toprun.setup/1)"},
      {R"({"schema": "toprun.setup/2"})", "f: is not a record of toprun's (toprun.setup/1)"},
      {R"({"schema": "toprun.setup/1"})", "f: toprun does not know its \"state\""},
      {R"({"schema": "toprun.setup/1", "state": "fine"})", "f: toprun does not know its \"state\""},
      {R"({"schema": "toprun.setup/1", "state": "complete", "job": 7})",
       "f: \"job\" is not a string"},
      {R"({"schema": "toprun.setup/1", "state": "complete", "modules": "a"})",
       "f: \"modules\" is not a list"},
      {R"({"schema": "toprun.setup/1", "state": "complete", "modules": [1]})",
       "f: \"modules\" is not a list of strings"},
      {R"({"schema": "toprun.setup/1", "state": "complete", "imports": []})",
       "f: \"imports\" is not an object"},
      {R"({"schema": "toprun.setup/1", "state": "complete", "imports": {"a": 1}})",
       "f: \"imports\" has no texts"},
  };
  for (const auto& [text, line] : cases) {
    const auto record = parse_record(text, "f");
    ASSERT_FALSE(record) << text;
    EXPECT_TRUE(record.error().line().starts_with(line)) << record.error().line();
    EXPECT_TRUE(
        record.error().line().ends_with("; build the environment again: toprun setup --force"));
  }
  EXPECT_TRUE(parse_record(R"({"schema": "toprun.setup/1", "state": "failed", "more": 1})", "f"));
}

TEST(Modules, DifferencesAreNamed) {
  using List = std::vector<std::string>;
  const std::tuple<List, List, std::string_view> cases[] = {
      {{}, {}, ""},
      {{"a/1", "b"}, {"b", "a/1"}, ""},
      {{"cuda/12.4"}, {"cuda/12.2"}, "cuda/12.2 instead of cuda/12.4"},
      {{"cuda/12.4"}, {"cuda"}, "cuda instead of cuda/12.4"},
      {{"cuda/12.4", "nccl/2.20"}, {"cuda/12.4"}, "without nccl/2.20"},
      {{"cuda/12.4"}, {"cuda/12.4", "rocm/6"}, "rocm/6 besides"},
      {{}, {"rocm"}, "rocm besides"},
      {{"tools/gcc/12", "tools/cuda/12"},
       {"tools/gcc/13"},
       "tools/gcc/13 instead of tools/gcc/12, without tools/cuda/12"},
  };
  for (const auto& [built, loaded, words] : cases) {
    EXPECT_EQ(module_differences(built, loaded), words);
  }
  EXPECT_EQ(loaded_modules("cuda/12.4:nccl/2"), (List{"cuda/12.4", "nccl/2"}));
  EXPECT_TRUE(loaded_modules("").empty());
}

TEST(Usable, SaysWhyNot) {
  Record record = complete();
  EXPECT_TRUE(check_usable(record, "--venv env on host n1", "x86_64"));
  EXPECT_EQ(check_usable(record, "--venv env on host n1", "aarch64").error().line(),
            "--venv env on host n1: the environment was built for x86_64 (on n0), but this node is "
            "aarch64; build an environment on a node like this one with `toprun setup`");
  record.state = State::failed;
  record.why = "no torch";
  EXPECT_EQ(check_usable(record, "--venv env", "x86_64").error().line(),
            "--venv env: the environment is incomplete: its setup, job 17, failed: no torch; build "
            "the environment again with `toprun setup`");
  record.state = State::building;
  EXPECT_EQ(check_usable(record, "--venv env", "x86_64").error().line(),
            "--venv env: the environment is incomplete: its setup, job 17, on n0 since "
            "2026-11-22T12:00:00.000Z "
            "has not ended, or was ended in the middle; see `toprun status 17`; `toprun submit "
            "--after setup` waits for the setup");
  record.state = State::submitted;
  record.job.clear();
  EXPECT_EQ(check_usable(record, "--venv env", "x86_64").error().line(),
            "--venv env: the environment is incomplete: its setup has not begun; build the "
            "environment again with `toprun setup`");
}

TEST(Record, TellsWhatWishesDifferBy) {
  const struct {
    std::vector<std::string> built, requested;
    std::string differences;
  } rows[] = {
      {{"torch", "numpy"}, {"numpy", "torch"}, ""},
      {{"torch", "numpy"}, {"torch"}, "its setup was also asked for numpy"},
      {{"torch==2.6"},
       {"torch==2.7", "--modules=cuda"},
       "its setup was asked for torch==2.6, and this command line asks for torch==2.7, "
       "--modules=cuda"},
      {{"torch"}, {"torch", "numpy"}, "this command line also asks for numpy"},
  };
  for (const auto& [built, requested, differences] : rows) {
    EXPECT_EQ(contents_differences(built, requested), differences);
  }
}

}  // namespace
}  // namespace toprun::setup
