#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "machine/doctor/facts.h"

namespace toprun::doctor {
namespace {

namespace fs = std::filesystem;

class Hardware : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  // A function below a bridge, as the kernel's links show it.
  void add_function(const std::string& address, const std::string& bridge) {
    const std::string below = "sys/devices/pci0000:16/" + bridge + "/" + address;
    write(below + "/class", "0x020700\n");
    fs::create_directories(folder_ / "sys/bus/pci/devices");
    for (const auto& [name, target] :
         {std::pair{address, below}, {bridge, "sys/devices/pci0000:16/" + bridge}}) {
      std::error_code there;
      fs::create_symlink("../../../../" + target, folder_ / "sys/bus/pci/devices" / name, there);
    }
  }
  fabric::Sysfs sysfs() const { return fabric::Sysfs(folder_); }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

std::string config_with_acs(std::uint16_t control) {
  std::string config(4096, '\0');
  config[0] = '\x86';
  config[1] = '\x80';
  config[0x100] = 0x01;  // error reporting, the next capability at 0x150
  config[0x103] = 0x15;
  config[0x150] = 0x0d;
  config[0x156] = static_cast<char>(control & 0xff);
  return config;
}

TEST_F(Hardware, ALinkIsNarrowIfBothEndsHaveMoreLanes) {
  add_function("0000:17:00.0", "0000:16:01.0");
  const std::string link = "sys/devices/pci0000:16/0000:16:01.0/";
  write(link + "max_link_width", "16\n");
  write(link + "0000:17:00.0/max_link_width", "16\n");
  write(link + "0000:17:00.0/current_link_width", "8\n");
  fabric::Device device;
  device.name = "mlx5_0";
  device.pci = "0000:17:00.0";
  const auto narrow = [&] { return narrow_links(sysfs(), {&device, 1}, {}); };
  ASSERT_EQ(narrow().size(), 1u);
  EXPECT_EQ(narrow()[0].lanes, 8);
  EXPECT_EQ(narrow()[0].possible_lanes, 16);
  write(link + "max_link_width", "8\n");  // the slot has no more
  EXPECT_TRUE(narrow().empty());
  write(link + "0000:17:00.0/current_link_width", "what\n");
  EXPECT_TRUE(narrow().empty());
}

TEST(Acs, IsReadFromTheConfigurationSpace) {
  EXPECT_TRUE(redirects_requests(config_with_acs(0x1d)));
  EXPECT_FALSE(redirects_requests(config_with_acs(0x01)));
  EXPECT_FALSE(redirects_requests(std::string(64, '\0')));  // what a user without privileges reads
  EXPECT_FALSE(redirects_requests(std::string(4096, '\xff')));
  for (std::size_t size = 0; size < 0x160; ++size) {
    (void)redirects_requests(config_with_acs(0x1d).substr(0, size));
  }
}

TEST_F(Hardware, BridgesThatRedirectAreNamed) {
  add_function("0000:17:00.0", "0000:16:01.0");
  write("sys/devices/pci0000:16/0000:16:01.0/config", config_with_acs(0x1d));
  const auto place = fabric::place_of(sysfs(), "0000:17:00.0");
  ASSERT_TRUE(place);
  EXPECT_EQ(redirecting_bridges(sysfs(), {&*place, 1}), std::vector<std::string>{"0000:16:01.0"});
}

TEST_F(Hardware, InterfacesOfOneSubnetAnswerForEachOther) {
  write("proc/net/route",
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
        "rdma0\t000010AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
        "rdma1\t000010AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n");
  EXPECT_TRUE(shared_subnets(sysfs()).empty()) << "the kernel's settings are unknown";
  for (const char* name : {"all", "rdma0", "rdma1"}) {
    write(std::string("proc/sys/net/ipv4/conf/") + name + "/arp_ignore", "0\n");
  }
  EXPECT_EQ(shared_subnets(sysfs()), (std::vector<std::vector<std::string>>{{"rdma0", "rdma1"}}));
  write("proc/sys/net/ipv4/conf/all/arp_ignore", "1\n");
  EXPECT_TRUE(shared_subnets(sysfs()).empty());
}

TEST_F(Hardware, TheVerbsLibraryIsLookedForWhereLoadersLook) {
  EXPECT_FALSE(has_verbs_library(sysfs(), {}));
  write("opt/rdma/libibverbs.so.1", "");
  EXPECT_FALSE(has_verbs_library(sysfs(), {}));
  Environment environment;
  environment.set("LD_LIBRARY_PATH", "relative:/opt/rdma");
  EXPECT_TRUE(has_verbs_library(sysfs(), environment));
  write("usr/lib64/libibverbs.so.1", "");
  EXPECT_TRUE(has_verbs_library(sysfs(), {}));
}

TEST(Xid, IsReadFromARecord) {
  EXPECT_EQ(gpu_fault_in("6,12,345,-;NVRM: Xid (PCI:0000:1a:00): 79, pid=1, GPU has fallen off"),
            "Xid 79 of 0000:1a:00");
  for (const char* record : {"6,1,2,-;NVRM: Xid (PCI:0000:1a:00): 31, MMU fault", "6,1,2,-;usb 1-1",
                             "NVRM: Xid (PCI:", "NVRM: Xid (PCI:x): y", ""}) {
    EXPECT_EQ(gpu_fault_in(record), "") << record;
  }
}

}  // namespace
}  // namespace toprun::doctor
