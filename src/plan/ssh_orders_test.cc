#include "plan/ssh_orders.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace toprun::plan {
namespace {

TEST(SshOrders, ComeAsTheyWereSent) {
  const SshOrders sent{{"/venv/bin/toprun", "--hosts", "a b", "train.py", "$(x)", "", "'\"\n\\"},
                       "/home/me/a project",
                       {{"NCCL_DEBUG", "INFO"}, {"EMPTY", ""}, {"LINES", "a\nb"}}};
  const std::string text = text_of(sent);
  const std::size_t end = text.find('\n');
  EXPECT_EQ(text.substr(0, end), fmt::format("orders {}", text.size() - end - 1));
  const auto got = parse_ssh_orders(std::string_view(text).substr(end + 1));
  ASSERT_TRUE(got) << got.error().line();
  EXPECT_EQ(got->argv, sent.argv);
  EXPECT_EQ(got->directory, sent.directory);
  EXPECT_EQ(got->variables, sent.variables);
}

TEST(SshOrders, Malformed) {
  for (const std::string_view text :
       {"", "{", "[]", "{}", R"({"argv": [], "directory": "/", "variables": {}})",
        R"({"argv": "toprun", "directory": "/", "variables": {}})",
        R"({"argv": ["toprun"], "directory": 1, "variables": {}})",
        R"({"argv": ["toprun"], "directory": "/", "variables": {"A": 1}})"}) {
    const auto got = parse_ssh_orders(text);
    ASSERT_FALSE(got) << text;
    EXPECT_TRUE(got.error().line().starts_with("the launcher's orders")) << got.error().line();
  }
}

TEST(SshOrders, WhatIsPassedOn) {
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
}

}  // namespace
}  // namespace toprun::plan
