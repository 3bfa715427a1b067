#include "machine/meter/meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/os/os_testing.h"

namespace toprun::meter {
namespace {

TEST(Meter, SeesThisProcess) {
  Meter meter;
  const std::array pids{::getpid(), pid_t{0}};
  const Node first = meter.look(pids);
  ASSERT_EQ(first.ranks.size(), 2u);
  EXPECT_EQ(first.ranks[0].cpus, std::nullopt);
  EXPECT_GT(*first.ranks[0].memory_bytes, 1u << 20);
  EXPECT_EQ(first.ranks[1], Rank());
  EXPECT_GT(first.host.cpus, 0);
  EXPECT_GT(first.host.memory_total_bytes, first.host.memory_bytes);
  const std::clock_t until = std::clock() + CLOCKS_PER_SEC / 10;  // of the processor's time
  while (std::clock() < until) {
  }
  const Node second = meter.look(pids);
  EXPECT_GT(*second.ranks[0].cpus, 0);
  EXPECT_LT(*second.ranks[0].cpus, 4);
  EXPECT_TRUE(second.host.busy_cpus && second.host.received_bytes_per_s);
}

TEST(Meter, SaysNothingOfAProcessThatIsGone) {
  Meter meter;
  const std::array pids{pid_t{1 << 22}};
  EXPECT_EQ(meter.look(pids).ranks[0], Rank());
}

// A host in a folder: what the kernel would show there.
class HostOfGpus : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  TemporaryFolder folder_;
};

TEST_F(HostOfGpus, CountsAdaptersThatAreHardware) {
  const auto carried = [&](std::uint64_t megabytes) {
    const std::string bytes = std::to_string(megabytes * 1'000'000);
    for (const char* name : {"eth0", "docker0", "lo"}) {
      write(std::string("sys/class/net/") + name + "/statistics/rx_bytes", bytes);
      write(std::string("sys/class/net/") + name + "/statistics/tx_bytes", bytes);
    }
    write("sys/class/net/eth0/device/vendor", "0x15b3");
    // In words of four bytes.
    const std::string port = "sys/class/infiniband/mlx5_0/ports/1/counters/port_";
    write(port + "rcv_data", std::to_string(megabytes * 1'000'000));
    write(port + "xmit_data", "0");
  };
  write("proc/stat", "cpu  100 0 100 5000 0 0 0 0 0 0\ncpu0 1 1 1 1\n");
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 7 kB\nMemAvailable:    400 kB\n");
  carried(1);
  Meter meter(folder_.path());
  const meter::Host first = meter.look({}).host;
  EXPECT_EQ(first.memory_bytes, 600u * 1024);
  EXPECT_EQ(first.busy_cpus, std::nullopt);
  const auto began = std::chrono::steady_clock::now();
  carried(2);
  write("proc/stat", "cpu  150 0 150 5000 0 0 0 0 0 0\n");
  const meter::Host second = meter.look({}).host;
  // The network device's megabyte, and the port's four.
  const double ratio = *second.received_bytes_per_s / *second.sent_bytes_per_s;
  EXPECT_NEAR(ratio, 5, 1e-6);
  EXPECT_GT(*second.busy_cpus, 0);
  EXPECT_GT(std::chrono::steady_clock::now(), began);
}

}  // namespace
}  // namespace toprun::meter
