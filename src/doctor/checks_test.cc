#include "doctor/checks.h"

#include <gtest/gtest.h>

#include <functional>

#include "doctor/report.h"

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
  facts.open_files = 65'536;
  facts.processes = 65'536;
  facts.shm = Space{"/dev/shm", 1u << 30, 1u << 30};
  facts.temporary = Space{"/tmp", 1u << 30, 1u << 30};
  facts.free_ports = 28'000;
  facts.listen_backlog = 4'096;
  facts.memory_limit_bytes = 1 << 30;
  facts.memory_used_bytes = 1 << 20;
  facts.clock_is_synchronised = true;
  facts.gpus = {{"0", true, 0}};
  return facts;
}

// "severity id: evidence" of what is not fine, a line each.
std::string told(Facts facts) {
  facts.network.choice = fabric::choose_ports(facts.network.devices, facts.network.interfaces);
  std::string text;
  for (const Finding& finding : examine(facts)) {
    if (finding.severity == Severity::ok) continue;
    text += fmt::format("{} {}: {}\n", name_of(finding.severity), finding.id, finding.evidence);
  }
  return text;
}

TEST(Checks, FindNothingOnAHealthyMachine) {
  EXPECT_EQ(told(healthy()), "");
  EXPECT_EQ(told(Facts{}), "");  // nothing is known, and nothing is held against it
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
       "error rdma-gids: mlx5_1:1: no GID: its interface has no address here\n"},
      {[](Facts& f) { f.network.devices[1].ports[0].rate_gbps = 200; },
       "warning rdma-rates: mlx5_1:1 runs at 200 of 400 Gb/s\n"},
      {[](Facts& f) { f.has_verbs_devices = false; },
       "error verbs: /sys shows RDMA devices and /dev/infiniband has no uverbs device\n"},
      {[](Facts& f) { f.locked_bytes = 65'536; },
       "error locked-memory: 65536 bytes may be locked: RDMA registers all its buffers\n"},
      {[](Facts& f) {
         f.network.interfaces[0].legs = {{"eth2", true}, {"eth3", false}};
       },
       "warning bonds: eth3 of eth1 is down\n"},
      {[](Facts& f) { f.network.environment.set("NCCL_IB_TIMOUT", "22"); },
       "warning nccl-settings: NCCL_IB_TIMOUT: NCCL knows no such variable; did you mean "
       "NCCL_IB_TIMEOUT?\n"},
      {[](Facts& f) { f.network.environment.set("NCCL_IB_DISABLE", "1"); },
       "warning nccl-settings: NCCL_IB_DISABLE=1 (set by you): NCCL leaves this machine's RDMA "
       "ports unused\n"},
      {[](Facts& f) { f.network.own_name_leads_astray = true; },
       "warning own-name: the host's name leads to none of its addresses\n"},
      {[](Facts& f) { f.shm->free_bytes = 3 << 20; },
       "error shared-memory: /dev/shm has 3 MiB left\n"},
      {[](Facts& f) { f.temporary->is_writable = false; },
       "error temporary-folder: /tmp cannot be written\n"},
      {[](Facts& f) { f.temporary->free_bytes = 0; },
       "error temporary-folder: /tmp has 0 MiB left\n"},
      {[](Facts& f) { f.open_files = 1024; },
       "warning open-files: a process may open 1024 files: fewer than a large job has "
       "connections\n"},
      {[](Facts& f) { f.processes = 100; },
       "warning processes: 100 processes and threads are allowed: data loaders and NCCL start "
       "many\n"},
      {[](Facts& f) { f.free_ports = 20; }, "warning ports: 20 ports are left for connections\n"},
      {[](Facts& f) { f.memory_used_bytes = 1000 << 20; },
       "warning memory: 1000 of the cgroup's 1024 MiB of memory are in use\n"},
      {[](Facts& f) { f.clock_is_synchronised = false; },
       "note clock: the kernel's clock is not synchronised\n"},
      {[](Facts& f) {
         f.gpus = {{"0", true, 0}, {"1", true, 7}};
       },
       "error gpus: GPU 1 has 7 uncorrected memory errors\n"},
      {[](Facts& f) { f.gpu_trouble = "no answer"; },
       "error gpus: nvidia-smi does not answer: no answer\n"},
  };
  for (const Case& each : cases) {
    Facts facts = healthy();
    each.spoil(facts);
    EXPECT_EQ(told(facts), each.expected) << &each - cases;
  }
}

TEST(Report, TheExitCodeIsTheWorstFindings) {
  const auto with = [](Severity severity) {
    return std::vector<Finding>{{"a", Severity::ok, "fine"}, {"b", severity, "seen", "mend"}};
  };
  EXPECT_EQ(exit_code({}), 0);
  EXPECT_EQ(exit_code(with(Severity::note)), 0);
  EXPECT_EQ(exit_code(with(Severity::unknown)), 0);
  EXPECT_EQ(exit_code(with(Severity::warning)), exit_warning);
  EXPECT_EQ(exit_code(with(Severity::error)), exit_error);
}

TEST(Gpus, AreLinesOfThreeFields) {
  const auto gpus = parse_gpus("0, Enabled, 0\n1, Disabled, [N/A]\nnonsense\n");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_TRUE(gpus[0].is_persistent);
  EXPECT_FALSE(gpus[1].uncorrected_errors);
}

}  // namespace
}  // namespace toprun::doctor
