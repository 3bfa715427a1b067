#include "machine/doctor/checks.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text/text.h"
#include "machine/doctor/report.h"

namespace toprun::doctor {
namespace {

fabric::Port roce_port() {
  fabric::Port port;
  port.link_layer = fabric::LinkLayer::ethernet;
  port.state = fabric::PortState::active;
  port.rate_gbps = 400;
  port.gids = {{3, *fabric::parse_gid("0000:0000:0000:0000:0000:ffff:0a01:0007"),
                fabric::GidType::v2, "eth1"}};
  return port;
}

// A machine with two RoCE adapters and a GPU, on which nothing is wrong.
Facts healthy() {
  Facts facts;
  for (const char* name : {"mlx5_0", "mlx5_1"}) {
    fabric::Device device;
    device.name = name;
    device.interfaces = {"eth1"};
    device.ports = {roce_port()};
    facts.network.devices.push_back(device);
  }
  fabric::Interface interface;
  interface.name = "eth1";
  interface.is_up = true;
  interface.mtu = 9000;
  facts.network.interfaces = {interface};
  facts.gpu_functions = 1;
  facts.has_verbs_devices = true;
  facts.has_peer_memory = true;
  facts.resources.open_files = 65'536;
  facts.resources.processes = 65'536;
  facts.resources.shm_free_bytes = 1 << 30;
  facts.temporary = Space{"/tmp", 1u << 30, 1u << 30};
  facts.resources.free_ports = 28'000;
  facts.listen_backlog = 4'096;
  facts.memory_limit_bytes = 1 << 30;
  facts.memory_used_bytes = 1 << 20;
  facts.clock_is_synchronised = true;
  facts.gpus = {{"0", true, 0}};
  return facts;
}

// "severity id: evidence" of what is not fine, a line each.
std::string reported(Facts facts) {
  facts.network.choice = fabric::choose_ports(facts.network.devices, facts.network.interfaces);
  std::string text;
  for (const Finding& finding : examine(facts)) {
    if (finding.severity == Severity::ok) continue;
    text += fmt::format("{} {}: {}\n", name_of(finding.severity), finding.id, finding.evidence);
  }
  return text;
}

TEST(Checks, FindNothingOnAHealthyMachine) {
  EXPECT_EQ(reported(healthy()), "");
  EXPECT_EQ(reported(Facts{}), "");  // nothing is known, and nothing is held against it
}

TEST(Checks, OfWhatIsNotThereFindNothingToLookAt) {
  for (const Finding& finding : examine(Facts{})) {
    const bool is_of_rdma = finding.id.starts_with("rdma") || finding.id == "gpudirect";
    const bool is_of_gpus = finding.id == "gpus" || finding.id == "nvlink-fabric";
    if (is_of_rdma || is_of_gpus) {
      EXPECT_TRUE(finding.is_idle) << finding.id;
      EXPECT_EQ(finding.evidence, is_of_rdma ? "no RDMA device" : "no GPU");
    }
    if (finding.id == "pcie-lanes") EXPECT_EQ(finding.evidence, "no RDMA device, no GPU");
    if (finding.id == "bonds") EXPECT_EQ(finding.evidence, "no bond");
  }
  Facts facts = healthy();
  facts.network.interfaces.front().legs = {{"eth2", true}};
  for (const Finding& finding : examine(facts)) EXPECT_FALSE(finding.is_idle) << finding.id;
}

TEST(Checks, EachFindsItsOwn) {
  struct Case {
    std::function<void(Facts&)> spoil;
    const char* expected;
  };
  using fabric::PortState;
  const Case cases[] = {
      {[](Facts& f) { f.network.devices[1].ports[0].state = PortState::down; },
       "warning rdma-ports: mlx5_1:1 is down\n"},
      {[](Facts& f) {
         for (auto& device : f.network.devices) device.ports[0].state = PortState::init;
       },
       "error rdma-ports: mlx5_0:1 is initialising\nerror rdma-ports: mlx5_1:1 is initialising\n"},
      {[](Facts& f) { f.network.devices[1].ports[0].gids.clear(); },
       "error rdma-gids: mlx5_1:1: no GID: the port's interface has no address here\n"},
      {[](Facts& f) { f.network.devices[1].ports[0].rate_gbps = 200; },
       "warning rdma-rates: mlx5_1:1 runs at 200 of 400 Gb/s\n"},
      {[](Facts& f) { f.has_verbs_devices = false; },
       "error verbs: /sys shows RDMA devices, but /dev/infiniband has no uverbs device\n"},
      {[](Facts& f) { f.resources.locked_bytes = 65'536; },
       "error locked-memory: the limit on locked memory is low (0.0625 MiB): RDMA registers all "
       "its "
       "buffers\n"},
      {[](Facts& f) {
         f.network.interfaces[0].legs = {{"eth2", true}, {"eth3", false}};
       },
       "warning bonds: eth3 of eth1 is down\n"},
      {[](Facts& f) { f.network.environment.set("NCCL_IB_TIMOUT", "22"); },
       "warning nccl-settings: NCCL_IB_TIMOUT: NCCL does not have this variable; did you mean "
       "NCCL_IB_TIMEOUT?\n"},
      {[](Facts& f) { f.network.environment.set("NCCL_IB_DISABLE", "1"); },
       "warning nccl-settings: NCCL_IB_DISABLE=1 (set by you): NCCL leaves this machine's RDMA "
       "ports unused\n"},
      {[](Facts& f) {
         f.network.own_name_leads_astray = true;
         f.own_name_leads_to = "127.0.1.1";
       },
       "warning own-name: the host's name resolves to 127.0.1.1, which is not one of its addresses "
       "on a "
       "network\n"},
      {[](Facts& f) { f.resources.shm_free_bytes = 3 << 20; },
       "error shared-memory: /dev/shm has 64 MiB or less left (3 MiB): data loaders and NCCL need "
       "more memory there\n"},
      {[](Facts& f) { f.temporary->why_not_writable = "why"; },
       "error temporary-folder: /tmp cannot be written: why\n"},
      {[](Facts& f) { f.temporary->free_bytes = 0; },
       "error temporary-folder: /tmp has 0 MiB left\n"},
      {[](Facts& f) { f.resources.open_files = 1024; },
       "note open-files: the limit on open files is low (1024 files): a process of a large job "
       "has a connection to each rank\n"},
      {[](Facts& f) { f.resources.open_files = 300; },
       "warning open-files: the limit on open files is low (300 files): a process of a large job "
       "has a connection to each rank\n"},
      {[](Facts& f) { f.resources.open_files = f.most_open_files.emplace(20); },
       "error open-files: the limit on open files is low (20 files): even small jobs need more\n"},
      {[](Facts& f) { f.installed.path = "/usr/bin/python3"; },
       "note python: Python (/usr/bin/python3): toprun cannot tell its version, nor whether it has "
       "PyTorch\n"},
      {[](Facts& f) {
         f.installed.path = "/usr/bin/python3";
         f.installed.python = "3.11";
       },
       "note python: Python 3.11 (/usr/bin/python3): no PyTorch in its usual folders\n"},
      {[](Facts& f) { f.resources.processes = 100; },
       "warning processes: the limit on processes and threads is low (100 processes): data loaders "
       "and NCCL start many processes and threads\n"},
      {[](Facts& f) { f.resources.free_ports = 20; },
       "warning ports: few ports are left for connections (20 ports): each connection takes one "
       "port\n"},
      {[](Facts& f) { f.has_verbs_library = false; },
       "warning verbs-library: libibverbs.so.1 is neither in the usual folders nor in "
       "LD_LIBRARY_PATH: without this library NCCL says \"No device found\"\n"},
      {[](Facts& f) {
         f.narrow_links = {{"mlx5_0", 8, 16}};
       },
       "warning pcie-lanes: mlx5_0 runs on 8 of 16 PCIe lanes\n"},
      {[](Facts& f) { f.redirecting_bridges = {"0000:16:01.0"}; },
       "note pci-redirection: 1 PCI bridge above GPUs or adapters redirects their traffic through "
       "the CPU (ACS)\n"},
      {[](Facts& f) {
         f.shared_subnets = {{"a", "b"}};
       },
       "note subnets: a, b are in one IPv4 subnet, and each replies to ARP for the addresses of "
       "the others: traffic may use the wrong interface\n"},
      {[](Facts& f) { f.gpu_faults = {"Xid 79 of 0000:1a:00"}; },
       "warning gpu-faults: the kernel's log has faults of GPUs since the start: Xid 79 of "
       "0000:1a:00\n"},
      {[](Facts& f) { f.network.environment.set("NCCL_NET", "\"AWS Libfabric\""); },
       "warning nccl-settings: NCCL_NET=\"AWS Libfabric\" (set by you): the quotes are part of the "
       "value\n"},
      {[](Facts& f) { f.memory_used_bytes = 1000 << 20; },
       "warning memory: 1000 of the cgroup's 1024 MiB of memory are in use\n"},
      {[](Facts& f) { f.clock_is_synchronised = false; },
       "note clock: the kernel's clock is not synchronised\n"},
      {[](Facts& f) {
         f.gpus = {{"0", true, 0}, {"1", true, 7}};
       },
       "error gpus: GPU 1 has 7 uncorrected memory errors\n"},
      {[](Facts& f) {
         f.gpus = {{"0", true, 0, "", "", true}};
       },
       "error gpus: GPU 0 has failed and needs a reset\n"},
      {[](Facts& f) {
         f.gpus = {{"0", true, 0, "Completed", "Success"}, {"1", true, 0, "In Progress", ""}};
       },
       "error nvlink-fabric: GPU 1 has not joined the NVLink fabric: In Progress\n"},
      {[](Facts& f) {
         f.gpus = {{"0", true, 0, "Completed", "Insufficient Resources"}};
       },
       "error nvlink-fabric: GPU 0 has not joined the NVLink fabric: Insufficient Resources\n"},
      {[](Facts& f) {
         f.tracked_connections = TrackedConnections{250'000, 262'144};
       },
       "warning connections: the firewall tracks 250000 connections of at most 262144: it will "
       "drop new connections\n"},
      {[](Facts& f) { f.gpu_trouble = "no answer"; },
       "error gpus: nvidia-smi does not answer: no answer\n"},
  };
  for (const Case& each : cases) {
    Facts facts = healthy();
    each.spoil(facts);
    EXPECT_EQ(reported(facts), each.expected) << &each - cases;
  }
}

// "commands | fix" of the only finding.
std::string remedy(Facts facts) {
  for (const Finding& finding : examine(facts)) {
    if (finding.severity != Severity::ok) return join(finding.commands, ", ") + " | " + finding.fix;
  }
  return "";
}

TEST(Checks, AUserRaisesALimitToTheHardLimitOnly) {
  const std::string administrator =
      "above the hard limit (`ulimit -Hn`), and on other hosts, an administrator sets LimitNOFILE= "
      "of slurmd (Slurm) or nofile in limits.conf (ssh)";
  Facts facts = healthy();
  facts.network.choice = fabric::choose_ports(facts.network.devices, facts.network.interfaces);
  facts.resources.open_files = 300;
  const std::string unbounded =
      "ulimit -n 65536 | run `ulimit -n 65536` before toprun; " + administrator;
  EXPECT_EQ(remedy(facts), unbounded);  // such as root
  facts.highest_limits.open_files = 65'536;
  EXPECT_EQ(remedy(facts), unbounded);
  facts.highest_limits.open_files = 4'096;  // enough for a large job
  EXPECT_EQ(remedy(facts), "ulimit -n 4096 | run `ulimit -n 4096` before toprun; " + administrator);
  facts.highest_limits.open_files = 1'024;
  EXPECT_EQ(remedy(facts), " | run `ulimit -n 1024` before toprun; " + administrator);
  facts.highest_limits.open_files = 300;
  EXPECT_EQ(remedy(facts), " | " + administrator);
}

TEST(Checks, LockedMemoryIsLimitedInKibibytes) {
  Facts facts = healthy();
  facts.network.choice = fabric::choose_ports(facts.network.devices, facts.network.interfaces);
  facts.resources.locked_bytes = 8 << 20;
  facts.highest_limits.locked_bytes = std::int64_t{2} << 30;
  EXPECT_EQ(remedy(facts),
            "ulimit -l 2097152 | run `ulimit -l 2097152` before toprun; above the hard limit "
            "(`ulimit -Hl`), and on other hosts, an administrator sets LimitMEMLOCK= of slurmd "
            "(Slurm), memlock in limits.conf (ssh) or --ulimit memlock=-1 (container)");
}

TEST(Report, TheExitCodeIsTheWorstFindings) {
  const auto with = [](Severity severity) {
    return std::vector<Finding>{{"a", Severity::ok, "fine"}, {"b", severity, "seen", "mend"}};
  };
  EXPECT_EQ(exit_code(worst_of({})), 0);
  EXPECT_EQ(exit_code(worst_of(with(Severity::note))), 0);
  EXPECT_EQ(exit_code(worst_of(with(Severity::warning))), exit_warning);
  EXPECT_EQ(exit_code(worst_of(with(Severity::error))), exit_error);
}

TEST(Gpus, MayHaveTheStateOfTheirFabric) {
  const auto gpus = parse_gpus(
      "0, Enabled, 0, Completed, Success\n1, Enabled, 0, In Progress, N/A\n"
      "2, Enabled, 0, [N/A], [N/A]\n3, Enabled, 0, Completed\n");
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].fabric_state + gpus[0].fabric_status, "CompletedSuccess");
  EXPECT_EQ(gpus[1].fabric_state + gpus[1].fabric_status, "In Progress");
  EXPECT_EQ(gpus[2].fabric_state + gpus[2].fabric_status, "");
}

TEST(Gpus, AreLinesOfThreeFields) {
  const auto gpus = parse_gpus("0, Enabled, 0\n1, Disabled, [N/A]\nnonsense\n");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_TRUE(gpus[0].is_persistent);
  EXPECT_FALSE(gpus[1].is_persistent);
  EXPECT_FALSE(gpus[1].uncorrected_errors);
}

// What nvidia-smi prints in place of the values of a GPU that has failed.
TEST(Gpus, OneThatNeedsAReset) {
  const auto gpus = parse_gpus(
      "0, [GPU requires reset], [GPU requires reset]\n1, [Unknown Error], [Unknown Error]\n"
      "2, Enabled, 0, [GPU requires reset], [GPU requires reset]\n");
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_TRUE(gpus[0].needs_reset);
  EXPECT_FALSE(gpus[1].needs_reset);
  EXPECT_TRUE(gpus[2].needs_reset);
  for (const Gpu& gpu : gpus) {
    EXPECT_TRUE(gpu.is_persistent);  // that it is off is not known
    EXPECT_EQ(gpu.fabric_state, "");
  }
}

}  // namespace
}  // namespace toprun::doctor
