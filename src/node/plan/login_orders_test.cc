#include "node/plan/login_orders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::plan {
namespace {

TEST(LoginOrders, ComeAsTheyWereSent) {
  const LoginOrders sent{{"/venv/bin/toprun", "--hosts", "a b", "train.py", "$(x)", "", "'\"\n\\"},
                         "/home/me/a project",
                         {{"NCCL_DEBUG", "INFO"}, {"EMPTY", ""}, {"LINES", "a\nb"}},
                         true,
                         "1f3a9c02",
                         {"toprun-bench", "x86_64", std::string("\0ELF\n", 5)}};
  const std::string text = text_of(sent);
  const std::size_t end = text.find('\n');
  const std::size_t body = text.size() - end - 1 - sent.program.content.size();
  EXPECT_EQ(text.substr(0, end), fmt::format("orders {}", body));
  EXPECT_TRUE(text.ends_with(sent.program.content));
  const auto got = parse_login_orders(std::string_view(text).substr(end + 1, body));
  ASSERT_TRUE(got) << got.error().line();
  EXPECT_EQ(got->argv, sent.argv);
  EXPECT_EQ(got->directory, sent.directory);
  EXPECT_EQ(got->variables, sent.variables);
  EXPECT_EQ(got->in_pod, sent.in_pod);
  EXPECT_EQ(got->kept_as, sent.kept_as);
  EXPECT_EQ(got->program.name, sent.program.name);
  EXPECT_EQ(got->program.machine, sent.program.machine);
  EXPECT_EQ(got->program.bytes, sent.program.content.size());
}

TEST(LoginOrders, WhatAPodTellsOfItsOwnJobIsForgotten) {
  LoginOrders orders{{"toprun"}, "", {{"PET_MAX_RESTARTS", "1"}}, true};
  const Environment pod{
      {"PET_NNODES", "2"}, {"PET_MAX_RESTARTS", "3"}, {"PET_NPROC_PER_NODE", "8"},
      {"RANK", "1"},       {"WORLD_SIZE", "16"},      {"MASTER_ADDR", "job-master-0"},
      {"HOME", "/root"}};
  const auto there = obey(orders, pod);
  ASSERT_TRUE(there) << there.error().line();
  std::vector<std::string> names;
  for (const auto& [name, value] : there->variables()) names.push_back(name + '=' + value);
  EXPECT_EQ(join(names, " "), "HOME=/root PET_MAX_RESTARTS=1 PET_NPROC_PER_NODE=8 TOPRUN_STEP=1");
}

// As on a full disk: the run may do without the program.
TEST(LoginOrders, AProgramThatCannotBeWrittenDoesNotEndTheRun) {
  LoginOrders orders{{"toprun"}, "", {}};
  orders.program = {"..", process::this_machine(), "#!/bin/sh\n"};
  testing::internal::CaptureStderr();
  const auto there = obey(orders, Environment());
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(there) << there.error().line();
  EXPECT_TRUE(said.contains("warning: ")) << said;
}

// The folder may be one that several hosts share, where another process runs the program.
TEST(LoginOrders, AProgramThatIsThereStays) {
  LoginOrders orders{{"toprun"}, "", {}};
  orders.program = {"login_orders_test.program", process::this_machine(), "#!/bin/sh\n"};
  const auto own = process::own_path();
  ASSERT_TRUE(own);
  const auto file = own->parent_path() / orders.program.name;
  const auto put = [&] {
    struct stat status {};
    EXPECT_TRUE(obey(orders, Environment()));
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777u, 0700u);
    EXPECT_EQ(read_file(file).value_or(""), orders.program.content);
    return status.st_ino;
  };
  const Fd first((put(), ::open(file.c_str(), O_RDONLY | O_CLOEXEC)));  // keeps its inode in use
  const auto before = put();
  EXPECT_EQ(put(), before);
  orders.program.content = "#!/bin/no\n";
  EXPECT_NE(put(), before);
  ::chmod(file.c_str(), 0600);
  put();
  ::unlink(file.c_str());
}

TEST(LoginOrders, Malformed) {
  for (const std::string_view text :
       {"", "{", "[]", "{}", R"({"argv": [], "directory": "/", "variables": {}})",
        R"({"argv": "toprun", "directory": "/", "variables": {}})",
        R"({"argv": ["toprun"], "directory": 1, "variables": {}})",
        R"({"argv": ["toprun"], "directory": "/", "variables": {"A": 1}})"}) {
    const auto got = parse_login_orders(text);
    ASSERT_FALSE(got) << text;
    EXPECT_TRUE(got.error().line().starts_with("the launcher's instructions"))
        << got.error().line();
  }
}

TEST(LoginOrders, WhatIsPassedOn) {
  const Environment environment{
      {"PATH", "/bin"},          {"LD_LIBRARY_PATH", "/x"}, {"NCCL_DEBUG", "INFO"},
      {"PYTHONPATH", "/src"},    {"VIRTUAL_ENV", "/venv"},  {"https_proxy", "http://p"},
      {"PET_MAX_RESTARTS", "2"}, {"PET_NODE_RANK", "3"},    {"TOPRUN_HOSTS", "a,b"},
      {"TOPRUN_SECRET", "s"},    {"HOME", "/home/me"},      {"RANK", "7"}};
  const auto passed =
      passed_variables(environment, {"PET_MAX_RESTARTS", "PET_NODE_RANK", "TOPRUN_HOSTS"});
  std::vector<std::string> names;
  for (const auto& [name, value] : passed) names.push_back(name);
  EXPECT_EQ(join(names, " "), "NCCL_DEBUG PET_MAX_RESTARTS PYTHONPATH VIRTUAL_ENV https_proxy");
  names.clear();
  for (const auto& [name, value] :
       passed_variables(environment, {"PET_MAX_RESTARTS"}, Likeness::own_image)) {
    names.push_back(name);
  }
  EXPECT_EQ(join(names, " "), "NCCL_DEBUG PET_MAX_RESTARTS");
}

}  // namespace
}  // namespace toprun::plan
