#include "decide/topology/cloud/azure.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

std::string add_program(const fs::path& folder, const std::string& script = "exit 0") {
  fs::create_directories(folder);
  const fs::path path = folder / "sharp_cmd";
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

TEST(Azure, SharpIsLookedForWhereItIsInstalled) {
  const TemporaryFolder folder;
  const fs::path& root = folder.path();
  const Environment bare = {{"PATH", (root / "path").string()}};
  EXPECT_EQ(find_sharp_cmd(bare, root), std::nullopt);
  fs::create_directories(root / "opt/hpcx-v2.21/sharp");
  const std::string old = add_program(root / "opt/hpcx-v2.9-gcc/sharp/bin");
  EXPECT_EQ(find_sharp_cmd(bare, root), old);
  const std::string newer = add_program(root / "opt/hpcx-v2.18-gcc/sharp/bin");
  EXPECT_EQ(find_sharp_cmd(bare, root), newer);
  const std::string drivers = add_program(root / "opt/mellanox/sharp/bin");
  EXPECT_EQ(find_sharp_cmd(bare, root), drivers);
  Environment loaded = bare;
  loaded.set("HPCX_SHARP_DIR", (root / "module").string());
  EXPECT_EQ(find_sharp_cmd(loaded, root), drivers);
  const std::string module = add_program(root / "module/bin");
  EXPECT_EQ(find_sharp_cmd(loaded, root), module);
  const std::string in_path = add_program(root / "path");
  EXPECT_EQ(find_sharp_cmd(loaded, root), in_path);
}

// The nodes of a job, each with one port, and a script in place of sharp_cmd.
class ReadAzure : public ::testing::Test {
 protected:
  ReadAzure() {
    request_.topology = "azure";
    request_.environment = {{"PATH", folder_.string() + ":/usr/bin:/bin"},
                            {"TMPDIR", folder_.string()},
                            {"ANSWERS", (folder_ / "answers").string()}};
    fs::create_directories(folder_ / "answers");
    for (const auto& [host, ports] : std::vector<std::pair<std::string, std::string>>{
             {"n0", "mlx5_ib0/1 0x155dfffd33ff33\n"},
             {"n1", "mlx5_ib0/1 0x155dfffd33ff43\n"},
             {"n2", "mlx5_ib0/1 0x155dfffd33ff7b\n"}}) {
      Member member{host, "", ""};
      member.ports = ports;
      request_.members.push_back(std::move(member));
    }
  }

  std::string error() const {
    const auto map = read_azure(request_);
    return map ? "no error" : map.error().line();
  }
  std::string answered(const char* name) const {
    std::ifstream file(folder_ / "answers" / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  Request request_;
};

TEST_F(ReadAzure, AsksSharpForThePortsOfAllNodes) {
  add_program(folder_,
              "echo \"$1 $2 $3 $4 $6 $SHARP_SMX_UCX_INTERFACE\" > $ANSWERS/words\n"
              "cat \"$5\" > $ANSWERS/guids\n"
              "echo 'SwitchName=a Nodes=0x155dfffd33ff33,0x155dfffd33ff7b' > \"$7\"\n"
              "echo 'SwitchName=b Nodes=0x155dfffd33ff43' >> \"$7\"\n"
              "echo 'SwitchName=c Switches=a,b' >> \"$7\"\n");
  const auto map = read_azure(request_);
  ASSERT_TRUE(map && *map) << map.error().line();
  EXPECT_EQ((*map)->source, "azure");
  EXPECT_EQ(text_of(**map),
            "spine leaf\nn0 c/a sharp_cmd topology:1\nn2 c/a sharp_cmd topology:1\n"
            "n1 c/b sharp_cmd topology:2\n");
  EXPECT_EQ(answered("words"),
            "topology --ib-dev mlx5_ib0:1 --guids_file --topology_file mlx5_ib0:1\n");
  EXPECT_EQ(answered("guids"), "0x155dfffd33ff33\n0x155dfffd33ff43\n0x155dfffd33ff7b\n");
  const auto left = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  EXPECT_EQ(left, 2) << "besides the program and its answers nothing is left";
}

TEST_F(ReadAzure, SaysWhatIsMissing) {
  EXPECT_TRUE(
      error().starts_with("--topology azure: sharp_cmd is not on this node: toprun looked for "
                          "the program in PATH, $HPCX_SHARP_DIR/bin, "))
      << error();
  add_program(folder_, "echo 'no AM found' >&2; exit 3");
  EXPECT_TRUE(error().starts_with("`sharp_cmd topology` tells nothing: ")) << error();
  EXPECT_TRUE(error().contains("no AM found")) << error();
  add_program(folder_);
  EXPECT_TRUE(
      error().starts_with("`sharp_cmd topology` tells nothing: the program did not write a file; "))
      << error();
  add_program(folder_, "echo nonsense > \"$7\"");
  EXPECT_TRUE(error().starts_with("sharp_cmd topology:1:")) << error();
  add_program(folder_, "sleep 20");
  request_.budget = std::chrono::milliseconds(200);
  EXPECT_TRUE(error().contains("no answer within 200 ms")) << error();
}

TEST_F(ReadAzure, NodesWithoutPortsAreNamed) {
  add_program(folder_, "echo 'SwitchName=a Nodes=0x155dfffd33ff33' > \"$7\"");
  request_.members[1].ports = std::string();
  const auto map = read_azure(request_);
  ASSERT_TRUE(map && *map);
  EXPECT_EQ((*map)->warnings,
            (std::vector<std::string>{
                "none of the InfiniBand ports of n2 is listed in sharp_cmd topology",
                "no InfiniBand port was found on n1"}));
  for (Member& member : request_.members) member.ports = std::string();
  EXPECT_TRUE(error().contains("has the link layer InfiniBand")) << error();
  for (Member& member : request_.members) member.ports = {};
  EXPECT_TRUE(error().contains("only the agents of a job search for InfiniBand ports")) << error();
}

}  // namespace
}  // namespace toprun::topology
