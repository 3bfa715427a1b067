#include "node/worker/binding.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;

// A fake /sys: nodes, CPUs and GPUs as files below a temporary folder.
class Sys {
 public:
  const fs::path& path() const { return path_; }

  void file(const std::string& name, const std::string& text) {
    fs::create_directories((path_ / "sys" / name).parent_path());
    std::ofstream(path_ / "sys" / name) << text << '\n';
  }
  // Numbers the second threads after all first ones, as x86 firmware does.
  void cpus(int sockets, int nodes_per_socket, int cores_per_node, int threads,
            int cores_per_cache) {
    const int cores = sockets * nodes_per_socket * cores_per_node;
    for (int node = 0; node < sockets * nodes_per_socket; ++node) {
      file(fmt::format("devices/system/node/node{}/cpulist", node),
           list(node * cores_per_node, cores_per_node, threads, cores));
    }
    for (int cpu = 0; cpu < cores * threads; ++cpu) {
      const int core = cpu % cores;
      const std::string folder = fmt::format("devices/system/cpu/cpu{}", cpu);
      file(folder + "/topology/physical_package_id",
           fmt::format("{}", core / cores_per_node / nodes_per_socket));
      file(folder + "/topology/thread_siblings_list", list(core, 1, threads, cores));
      cache(folder + "/cache/index0", "Data", 1, list(core, 1, threads, cores));
      cache(folder + "/cache/index1", "Instruction", 4, list(core, 1, threads, cores));
      const int first = core / cores_per_cache * cores_per_cache;
      cache(folder + "/cache/index3", "Unified", 3, list(first, cores_per_cache, threads, cores));
    }
    file("devices/system/node/possible", "0-31");
  }
  void gpu(const std::string& address, int node) {
    file(fmt::format("bus/pci/devices/{}/numa_node", address), fmt::format("{}", node));
    gpus_.push_back(address);
  }
  Result<Machine> machine(const std::string& allowed) const {
    return read_machine(parse_cpu_list(allowed).value(), gpus_, path_);
  }

 private:
  void cache(const std::string& folder, const std::string& type, int level,
             const std::string& shared) {
    file(folder + "/type", type);
    file(folder + "/level", fmt::format("{}", level));
    file(folder + "/shared_cpu_list", shared);
  }
  static std::string list(int first, int count, int threads, int cores) {
    std::vector<int> cpus;
    for (int thread = 0; thread < threads; ++thread) {
      for (int i = 0; i < count; ++i) cpus.push_back(first + i + thread * cores);
    }
    return cpu_list(cpus);
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_.path();
  std::vector<std::string> gpus_;
};

// The CPUs of each local rank, or the error.
std::vector<std::string> bound(const Result<Machine>& machine, NumaBinding mode, int ranks) {
  if (!machine) return {machine.error().line()};
  std::vector<std::string> out;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto binding = bind(*machine, mode, rank, ranks);
    out.push_back(binding ? cpu_list(binding->cpus) : binding.error().line());
  }
  return out;
}

using Lists = std::vector<std::string>;

// 2 sockets × 2 NUMA nodes × 8 cores × 2 threads; the GPUs are not in node order, as on a DGX.
class TwoSockets : public testing::Test {
 protected:
  void SetUp() override {
    sys_.cpus(2, 2, 8, 2, 8);
    const int nodes[] = {1, 1, 0, 0, 3, 3, 2, 2};
    for (int i = 0; i < 8; ++i) sys_.gpu(fmt::format("0000:{:02x}:00.0", i + 1), nodes[i]);
  }
  Sys sys_;
};

TEST_F(TwoSockets, Node) {
  EXPECT_EQ(bound(sys_.machine("0-63"), NumaBinding::node, 8),
            (Lists{"8-15,40-47", "8-15,40-47", "0-7,32-39", "0-7,32-39", "24-31,56-63",
                   "24-31,56-63", "16-23,48-55", "16-23,48-55"}));
}

TEST_F(TwoSockets, Socket) {
  EXPECT_EQ(bound(sys_.machine("0-63"), NumaBinding::socket, 8),
            (Lists{"0-15,32-47", "0-15,32-47", "0-15,32-47", "0-15,32-47", "16-31,48-63",
                   "16-31,48-63", "16-31,48-63", "16-31,48-63"}));
}

TEST_F(TwoSockets, Exclusive) {
  EXPECT_EQ(bound(sys_.machine("0-63"), NumaBinding::exclusive, 8),
            (Lists{"8-11,40-43", "12-15,44-47", "0-3,32-35", "4-7,36-39", "24-27,56-59",
                   "28-31,60-63", "16-19,48-51", "20-23,52-55"}));
}

TEST_F(TwoSockets, FewerWorkersThanGpusGetNoMore) {
  EXPECT_EQ(bound(sys_.machine("0-63"), NumaBinding::exclusive, 1), Lists{"8-11,40-43"});
}

TEST_F(TwoSockets, MoreWorkersThanGpus) {
  EXPECT_EQ(
      bound(sys_.machine("0-63"), NumaBinding::node, 9).back(),
      "--numa-binding: local rank 8 has no GPU: this node has 8; lower --nproc-per-node, or leave "
      "out --numa-binding");
}

TEST_F(TwoSockets, ARestrictedSetOfCpus) {
  // Three cores of node 1, the last with only one thread, and no CPU of node 0.
  const auto machine = sys_.machine("8,9,10,40,41,16-31");
  EXPECT_EQ(bound(machine, NumaBinding::node, 2), (Lists{"8-10,40-41", "8-10,40-41"}));
  EXPECT_EQ(bound(machine, NumaBinding::exclusive, 2), (Lists{"8-9,40-41", "10"}))
      << "the first GPU of a node gets the core that remains";
  EXPECT_EQ(bound(machine, NumaBinding::socket, 1), Lists{"8-10,40-41"});
  EXPECT_EQ(bound(machine, NumaBinding::node, 3).back(),
            "--numa-binding: GPU 2 is on NUMA node 0, but toprun may not use that node's CPUs, "
            "only the CPUs 8-10,16-31,40-41; request CPUs near the GPUs from the scheduler, or "
            "leave out --numa-binding");
  EXPECT_EQ(bound(sys_.machine("8"), NumaBinding::exclusive, 1).front(),
            "--numa-binding exclusive: NUMA node 1 has 1 usable cores for 2 workers; use "
            "--numa-binding node");
}

TEST_F(TwoSockets, OneThreadOfACoreStandsForIt) {
  EXPECT_EQ(bound(sys_.machine("40-47"), NumaBinding::exclusive, 2), (Lists{"40-43", "44-47"}));
}

// One socket with four NUMA nodes of two caches each, as with NPS4.
TEST(Binding, CoreComplexes) {
  Sys sys;
  sys.cpus(1, 4, 16, 2, 8);
  for (int i = 0; i < 8; ++i) sys.gpu(fmt::format("0000:{:02x}:00.0", i + 1), i / 2);
  EXPECT_EQ(bound(sys.machine("0-127"), NumaBinding::core_complex, 8),
            (Lists{"0-7,64-71", "8-15,72-79", "16-23,80-87", "24-31,88-95", "32-39,96-103",
                   "40-47,104-111", "48-55,112-119", "56-63,120-127"}));
  EXPECT_EQ(bound(sys.machine("0-2,8-15"), NumaBinding::core_complex, 2), (Lists{"8-15", "0-2"}))
      << "the complex with most usable CPUs first";
}

TEST(Binding, MoreGpusThanCoreComplexesTakeTurns) {
  Sys sys;
  sys.cpus(1, 1, 8, 1, 4);
  for (int i = 0; i < 3; ++i) sys.gpu(fmt::format("0000:{:02x}:00.0", i + 1), -1);
  EXPECT_EQ(bound(sys.machine("0-7"), NumaBinding::core_complex, 3), (Lists{"0-3", "4-7", "0-3"}));
}

TEST(Binding, ASingleNodeWhoseGpuNamesNone) {
  Sys sys;
  sys.cpus(1, 1, 4, 1, 4);
  sys.gpu("0000:01:00.0", -1);
  EXPECT_EQ(bound(sys.machine("0-3"), NumaBinding::node, 1), Lists{"0-3"});
}

TEST(Binding, WithoutGpusTheRanksAreSpread) {
  Sys sys;
  sys.cpus(2, 2, 8, 1, 8);
  const auto machine = sys.machine("0-31");
  EXPECT_EQ(bound(machine, NumaBinding::node, 2), (Lists{"0-7", "16-23"}));
  EXPECT_EQ(bound(machine, NumaBinding::node, 5), (Lists{"0-7", "0-7", "8-15", "16-23", "24-31"}));
  EXPECT_EQ(bound(machine, NumaBinding::exclusive, 8),
            (Lists{"0-3", "4-7", "8-11", "12-15", "16-19", "20-23", "24-27", "28-31"}));
  EXPECT_EQ(bound(sys.machine("8-15"), NumaBinding::node, 2), (Lists{"8-15", "8-15"}));
}

TEST(Binding, WhatSysDoesNotTell) {
  Sys sys;
  sys.file("devices/system/node/node0/cpulist", "0-3");
  const auto machine = sys.machine("0-3");
  EXPECT_EQ(bound(machine, NumaBinding::node, 1), Lists{"0-3"});
  EXPECT_EQ(
      bound(machine, NumaBinding::socket, 1),
      Lists{"--numa-binding: /sys does not show the socket of CPU 0; use --numa-binding node"});
  EXPECT_EQ(bound(machine, NumaBinding::exclusive, 1),
            Lists{"--numa-binding: /sys does not show the physical core of CPU 0; use "
                  "--numa-binding node"});
  EXPECT_EQ(bound(machine, NumaBinding::core_complex, 1),
            Lists{"--numa-binding: /sys does not show the last-level cache of CPU 0; use "
                  "--numa-binding node"});
  EXPECT_EQ(read_machine({0}, {}, "/nonexistent").error().line(),
            "--numa-binding: toprun may not use any CPU in /nonexistent/sys/devices/system/node; "
            "leave out --numa-binding, or run on a machine where /sys shows this");
  EXPECT_FALSE(read_machine({0}, {"0000:01:00.0"}, sys.path()));
}

TEST(CpuList, BothWays) {
  for (const auto& [text, expected] : std::vector<std::pair<const char*, const char*>>{
           {"0-3,8", "0-3,8"},
           {"0,1,2", "0-2"},
           {"7", "7"},
           {"4-5,0\n", "0,4-5"},
           {"", ""},
       }) {
    const auto cpus = parse_cpu_list(text);
    ASSERT_TRUE(cpus) << text;
    EXPECT_EQ(cpu_list(*cpus), expected) << text;
  }
  for (const char* bad : {"a", "3-1", "1,,2", "-1", "0-", "0-99999999"}) {
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
  }
}

}  // namespace
}  // namespace toprun::worker
