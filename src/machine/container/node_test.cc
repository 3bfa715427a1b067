#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

void put(const std::filesystem::path& file, std::string_view text = "") {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Node, DevicesBelowARoot) {
  const TemporaryFolder root;
  const Node empty = find_node("n1", root.path());
  EXPECT_EQ(empty.host, "n1");
  EXPECT_EQ(empty.uid, geteuid());
  EXPECT_FALSE(empty.nvidia || empty.nvidia_cdi || empty.amd);
  EXPECT_TRUE(empty.rdma_devices.empty() && empty.userns_off.empty());

  put(root.path() / "dev/nvidiactl");
  put(root.path() / "dev/kfd");
  put(root.path() / "dev/infiniband/uverbs0");
  put(root.path() / "etc/cdi/amd.yaml", "kind: amd.com/gpu\n");
  put(root.path() / "etc/cdi/README", "nvidia.com/gpu\n");
  put(root.path() / "proc/sys/kernel/pid_max", "77\n");
  put(root.path() / "proc/sys/user/max_user_namespaces", "96365\n");
  put(root.path() / "proc/sys/kernel/unprivileged_userns_clone", "0\n");
  const Node node = find_node("n1", root.path());
  EXPECT_EQ(node.userns_off, "kernel.unprivileged_userns_clone=0");
  EXPECT_TRUE(node.nvidia && node.amd);
  EXPECT_FALSE(node.nvidia_cdi);
  EXPECT_EQ(node.rdma_devices, std::vector<std::string>{"/dev/infiniband"});
  EXPECT_EQ(node.hard_nproc, 77);

  put(root.path() / "var/run/cdi/nvidia.json", R"({"kind": "nvidia.com/gpu"})");
  EXPECT_TRUE(find_node("n1", root.path()).nvidia_cdi);
}

}  // namespace
}  // namespace toprun::container
