#include "machine/fabric/profile_script.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::fabric {
namespace {

class ProfileScript : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_) << text; }

  // A node with a fabric whose script is the one that was written.
  NodeFabric node(Environment environment) {
    profile_.name = "test";
    profile_.script = path_;
    NodeFabric node;
    node.environment = std::move(environment);
    node.environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    node.profile = &profile_;
    node.profile_settings = {{"NCCL_LIB_DIR", "/opt/net"}, {"LD_LIBRARY_PATH", "+/opt/net"}};
    return node;
  }

  // "NAME=VALUE source" of the variables that decide() sets or finds set.
  static std::string reported(const NodeFabric& node) {
    std::string text;
    for (const Setting& setting : decide(node)) {
      if (!setting.value) continue;
      text += fmt::format("{}={} {}\n", setting.name, *setting.value, name_of(setting.source));
    }
    return text;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "profile.sh";
  Profile profile_;
};

TEST_F(ProfileScript, SetsWhatItExports) {
  write("echo for people\nexport NCCL_CROSS_NIC=0 NCCL_TUNER=$NCCL_LIB_DIR/tuner\nhidden=1\n");
  NodeFabric requested = node({});
  ASSERT_TRUE(source_profile_script(requested));
  EXPECT_EQ(reported(requested),
            "NCCL_LIB_DIR=/opt/net profile\nLD_LIBRARY_PATH=/opt/net profile\n"
            "NCCL_CROSS_NIC=0 profile\nNCCL_TUNER=/opt/net/tuner profile\n");
}

TEST_F(ProfileScript, LeavesTheUsersOwn) {
  write("export NCCL_CROSS_NIC=0 NCCL_PROTO=Simple\n");
  NodeFabric requested = node({{"NCCL_CROSS_NIC", "2"}, {"LD_LIBRARY_PATH", "/mine"}});
  ASSERT_TRUE(source_profile_script(requested));
  EXPECT_EQ(reported(requested),
            "NCCL_LIB_DIR=/opt/net profile\nLD_LIBRARY_PATH=/opt/net:/mine profile\n"
            "NCCL_CROSS_NIC=2 user\nNCCL_PROTO=Simple profile\n");
  const auto said = contradictions(requested);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "NCCL_CROSS_NIC=2 (set by you): test sets 0");
}

TEST_F(ProfileScript, ItsEffectIsADifference) {
  write(
      "export NCCL_CROSS_NIC=0 NCCL_LIB_DIR=/new NCCL_SAME=1 LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\n"
      "unset NCCL_PROTO; cd /; hidden=1\n");
  NodeFabric requested =
      node({{"NCCL_PROTO", "Simple"}, {"NCCL_SAME", "1"}, {"LD_LIBRARY_PATH", "/mine"}});
  ASSERT_TRUE(source_profile_script(requested));
  std::string text;
  for (const ScriptChange& change : requested.script_changes) {
    text += fmt::format("{} {} -> {}\n", change.name, change.before.value_or("unset"),
                        change.after.value_or("unset"));
  }
  EXPECT_EQ(text,
            "LD_LIBRARY_PATH /mine -> /x:/mine\nNCCL_CROSS_NIC unset -> 0\n"
            "NCCL_LIB_DIR /opt/net -> /new\nNCCL_PROTO Simple -> unset\n");
}

TEST_F(ProfileScript, AFailureAddsNothing) {
  write("export NCCL_CROSS_NIC=0\nreturn 3\n");
  NodeFabric requested = node({});
  const auto sourced = source_profile_script(requested);
  ASSERT_FALSE(sourced);
  EXPECT_EQ(sourced.error()->what, path_ + " could not be sourced");
  EXPECT_EQ(sourced.error()->why, "exit code 3");
  EXPECT_EQ(requested.profile_settings.size(), 2u);
  EXPECT_TRUE(requested.script_changes.empty());
}

TEST_F(ProfileScript, AMissingScriptIsNamedWithoutTheCommand) {
  NodeFabric requested = node({});
  const auto sourced = source_profile_script(requested);
  ASSERT_FALSE(sourced);
  EXPECT_EQ(sourced.error().line().substr(0, sourced.error().line().find(';')),
            path_ + " could not be sourced: No such file or directory");
}

}  // namespace
}  // namespace toprun::fabric
