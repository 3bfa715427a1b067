#include "engines/gpus.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::engines {
namespace {

namespace fs = std::filesystem;

// A root directory with the files that drivers leave there.
class Root {
 public:
  Root() { fs::create_directories(path_ / "dev"); }
  const fs::path& path() const { return path_; }

  Root& file(const std::string& name, const std::string& text = "") {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this;
  }
  Root& nvidia(int listed, int devices) {
    for (const char* other : {"nvidiactl", "nvidia-uvm", "nvidia-modeset", "nvidia-caps/c"}) {
      file(std::string("dev/") + other);
    }
    for (int i = 0; i < listed; ++i) {
      file(fmt::format("proc/driver/nvidia/gpus/0000:{:02x}:00.0/information", i));
    }
    for (int i = 0; i < devices; ++i) file(fmt::format("dev/nvidia{}", i));
    return *this;
  }
  // Two CPUs, then the GPUs.
  Root& amd(int gpus) {
    file("dev/kfd");
    for (int i = 0; i < gpus + 2; ++i) {
      file(fmt::format("sys/class/kfd/kfd/topology/nodes/{}/properties", i),
           fmt::format("cpu_cores_count {}\nsimd_count {}\nmem_banks_count 1\n", i < 2 ? 64 : 0,
                       i < 2 ? 0 : 440));
    }
    return *this;
  }

 private:
  const TemporaryFolder folder_;
  const fs::path path_ = folder_.path();
};

std::string counted(const Root& root, const Environment& environment = {}) {
  const GpuCount gpus = visible_gpus(environment, root.path());
  return fmt::format("{} {}", gpus.count, gpus.source);
}

TEST(VisibleGpus, ByTheDriversFiles) {
  EXPECT_EQ(counted(Root()), "0 no GPU driver");
  EXPECT_EQ(counted(Root().nvidia(8, 8)), "8 /proc/driver/nvidia/gpus");
  EXPECT_EQ(counted(Root().nvidia(8, 2)), "2 /dev/nvidia*") << "a container was given two";
  EXPECT_EQ(counted(Root().nvidia(0, 4)), "4 /dev/nvidia*");
  EXPECT_EQ(counted(Root().nvidia(4, 0)), "4 /proc/driver/nvidia/gpus");
  EXPECT_EQ(counted(Root().amd(4)), "4 /sys/class/kfd/kfd/topology");
  EXPECT_EQ(counted(Root().amd(0)), "0 no GPU driver");
}

TEST(GpuVendor, ByTheDriversFiles) {
  EXPECT_EQ(gpu_vendor(Root().path()), GpuVendor::none);
  EXPECT_EQ(gpu_vendor(Root().nvidia(8, 8).path()), GpuVendor::nvidia);
  EXPECT_EQ(gpu_vendor(Root().amd(4).path()), GpuVendor::amd);
  EXPECT_EQ(gpu_vendor(Root().amd(4).nvidia(1, 1).path()), GpuVendor::nvidia);
}

TEST(VisibleGpus, AMissingRootHasNone) {
  EXPECT_EQ(visible_gpus({}, "/nonexistent").count, 0);
}

TEST(VisibleGpus, ByCudaVisibleDevices) {
  Root root;
  root.nvidia(8, 8);
  for (const auto& [list, count] : std::vector<std::pair<const char*, int>>{
           {"0,1,2,3", 4},
           {"7", 1},
           {" 0 , 1 ", 2},
           {"", 0},
           {"-1", 0},
           {"0,-1,1", 1},
           {"0,1,8,2", 2},
           {"NoDevFiles", 0},
           {"0,1,1", 0},
           {"0,x,1", 1},
           {"GPU-8e3f7f5c-1,GPU-8e3f7f5c-2", 2},
           {"GPU-8e3f7f5c-1,3", 1},
           {"GPU-a,GPU-a", 0},
           {"MIG-7c1e,MIG-7c2e", 1},
           {"MIG-GPU-7c1e/1/0", 1},
           {"99999999999999999999", 0},
       }) {
    EXPECT_EQ(counted(root, {{"CUDA_VISIBLE_DEVICES", list}}),
              fmt::format("{} CUDA_VISIBLE_DEVICES", count))
        << list;
  }
}

TEST(VisibleGpus, LeftOverVariablesMakeNoGpus) {
  EXPECT_EQ(counted(Root(), {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NVIDIA_VISIBLE_DEVICES", "all"}}),
            "0 no GPU driver");
}

TEST(VisibleGpus, ByTheContainerRuntime) {
  Root root;
  root.nvidia(8, 8);
  for (const auto& [value, expected] : std::vector<std::pair<const char*, const char*>>{
           {"all", "8 /proc/driver/nvidia/gpus"},
           {"void", "8 /proc/driver/nvidia/gpus"},
           {"", "8 /proc/driver/nvidia/gpus"},
           {"none", "0 NVIDIA_VISIBLE_DEVICES"},
           {"0,3", "2 NVIDIA_VISIBLE_DEVICES"},
           {"GPU-a", "1 NVIDIA_VISIBLE_DEVICES"},
       }) {
    EXPECT_EQ(counted(root, {{"NVIDIA_VISIBLE_DEVICES", value}}), expected) << value;
  }
  EXPECT_EQ(counted(root, {{"NVIDIA_VISIBLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}),
            "2 CUDA_VISIBLE_DEVICES");
}

TEST(VisibleGpus, OneMigInstanceAtATime) {
  Root root;
  root.nvidia(2, 2);
  for (const char* gpu : {"gpu0", "gpu1"}) {
    root.file(fmt::format("proc/driver/nvidia/capabilities/{}/mig/access", gpu));
  }
  EXPECT_EQ(counted(root), "2 /proc/driver/nvidia/gpus") << "MIG is off";
  root.file("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access");
  root.file("proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access");
  root.file("proc/driver/nvidia/capabilities/gpu0/mig/gi2/ci0/access");
  EXPECT_EQ(counted(root), "1 /proc/driver/nvidia/capabilities, MIG");
  EXPECT_EQ(counted(root, {{"CUDA_VISIBLE_DEVICES", "1"}}), "1 CUDA_VISIBLE_DEVICES");
}

TEST(VisibleGpus, ByRocmsVariables) {
  Root root;
  root.amd(8);
  for (const auto& [environment, expected] : std::vector<std::pair<Environment, const char*>>{
           {{{"ROCR_VISIBLE_DEVICES", "0,1,2,3"}}, "4 ROCR_VISIBLE_DEVICES"},
           {{{"ROCR_VISIBLE_DEVICES", "GPU-a,GPU-b"}}, "2 ROCR_VISIBLE_DEVICES"},
           {{{"HIP_VISIBLE_DEVICES", "5,6"}}, "2 HIP_VISIBLE_DEVICES"},
           {{{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "0,1,2"}},
            "2 HIP_VISIBLE_DEVICES"},
           {{{"CUDA_VISIBLE_DEVICES", "0"}}, "1 CUDA_VISIBLE_DEVICES"},
           {{{"HIP_VISIBLE_DEVICES", "0,1"}, {"CUDA_VISIBLE_DEVICES", "0"}},
            "2 HIP_VISIBLE_DEVICES"},
           {{{"HIP_VISIBLE_DEVICES", "-1"}}, "0 HIP_VISIBLE_DEVICES"},
       }) {
    EXPECT_EQ(counted(root, environment), expected);
  }
}

TEST(NamedGpus, TakesTheSmallestList) {
  EXPECT_FALSE(named_gpus({{"PATH", "/bin"}}));
  const auto named = named_gpus({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"ROCR_VISIBLE_DEVICES", "3"}});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->count, 1);
  EXPECT_EQ(named->source, "ROCR_VISIBLE_DEVICES");
}

std::string addresses(const Root& root, const Environment& environment = {}) {
  const auto found = gpu_addresses(environment, root.path());
  return found ? join(*found, " ") : found.error().line();
}

// What the NVIDIA driver writes for each GPU; minors need not be in the order of the addresses.
Root& four_h100(Root& root) {
  const char* const buses[] = {"4e", "19", "3b", "cb"};
  for (int minor = 0; minor < 4; ++minor) {
    root.file(fmt::format("proc/driver/nvidia/gpus/0000:{}:00.0/information", buses[minor]),
              fmt::format("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n"
                          "GPU UUID: \t GPU-{}8e3f7f5c-0000\nDevice Minor: \t {}\n",
                          minor, minor));
    root.file(fmt::format("dev/nvidia{}", minor));
  }
  return root;
}

TEST(GpuAddresses, InCudasOrder) {
  Root root;
  four_h100(root);
  for (const auto& [list, expected] : std::vector<std::pair<const char*, const char*>>{
           {"0,1,2,3", "0000:19:00.0 0000:3b:00.0 0000:4e:00.0 0000:cb:00.0"},
           {"3,0", "0000:cb:00.0 0000:19:00.0"},
           {"0,9,1", "0000:19:00.0"},
           {"", ""},
           {"GPU-18e3f7f5c,GPU-0", "0000:19:00.0 0000:4e:00.0"},
           {"GPU-x",
            "CUDA_VISIBLE_DEVICES=GPU-x: the driver does not report which GPU GPU-x is; name GPUs "
            "by index"},
       }) {
    EXPECT_EQ(addresses(root, {{"CUDA_VISIBLE_DEVICES", list}}), expected) << list;
  }
  EXPECT_EQ(addresses(root), "0000:19:00.0 0000:3b:00.0 0000:4e:00.0 0000:cb:00.0");
  fs::remove(root.path() / "dev/nvidia1");
  EXPECT_EQ(addresses(root), "0000:3b:00.0 0000:4e:00.0 0000:cb:00.0") << "not in this container";
}

TEST(GpuAddresses, OfOthers) {
  EXPECT_EQ(addresses(Root()), "");
  EXPECT_EQ(
      addresses(Root().nvidia(0, 2)),
      "cannot find the PCI positions of the 2 GPUs: their driver does not list PCI addresses");
  Root amd;
  amd.file("dev/kfd");
  for (const int node : {10, 2, 3}) {
    amd.file(fmt::format("sys/class/kfd/kfd/topology/nodes/{}/properties", node),
             fmt::format("simd_count 440\nlocation_id {}\ndomain 1\n", node << 8));
  }
  EXPECT_EQ(addresses(amd), "0001:02:00.0 0001:03:00.0 0001:0a:00.0");
  EXPECT_EQ(addresses(amd, {{"ROCR_VISIBLE_DEVICES", "1,2"}, {"HIP_VISIBLE_DEVICES", "1"}}),
            "0001:0a:00.0");
}

}  // namespace
}  // namespace toprun::engines
