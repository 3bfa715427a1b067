#include <gtest/gtest.h>

#include "base/text/text.h"
#include "machine/fabric/nccl_log.h"
#include "machine/fabric/proof.h"

namespace toprun::fabric {
namespace {

// What people's logs hold of NCCL 2.10 to 2.30, RCCL and the network plugins, one case per form:
// our words, hosts and figures, their forms. A line without a level stands behind "h:7:40 [0] NCCL
// INFO ".
struct Form {
  const char* name;
  const char* node;  // "verbs": two InfiniBand ports; "plain": no RDMA; else a profile's name
  const char* lines;
  const char* reported;  // of network_lines(), joined by " / "
};

constexpr const char* by_ib = "network: 1 rank on 1 node communicated by IB with GPUDirect";
constexpr const char* by_efa =
    "network: 1 rank on 1 node communicated by AWS Libfabric with GPUDirect";
// Of a node with two InfiniBand ports whose rank ended on sockets.
#define BY_SOCKET(cause)                                                                     \
  "network: 1 rank on 1 node communicated by Socket / warning: n0: NCCL used plain sockets " \
  "in addition to 2 InfiniBand ports of 400 Gb/s / warning: n0: NCCL said: " cause

constexpr Form forms[] = {
    // Healthy jobs: none of these lines is a warning.
    {"2.10: no plugin", "verbs",
     "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n"
     "NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.1.0.1<0>\nUsing network IB\n"
     "Channel 00 : 0[1b000] -> 8[1b000] [receive] via NET/IB/0/GDRDMA\n"
     "Channel 00 : 0[1b000] -> 8[1b000] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"2.18: the plugin's file is not there", "verbs",
     "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared "
     "object file: No such file or directory\n"
     "NET/Plugin : No plugin found, using internal implementation\nUsing network IB\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"2.19: dlerror", "verbs",
     "NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or "
     "directory "
     "No plugin found (libnccl-net.so), using internal implementation\nUsing network IB\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"2.21: two lines of the plugin", "verbs",
     "NET/Plugin: No plugin found (libnccl-net.so)\nNET/Plugin: Using internal network plugin.\n"
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"2.23: could not find", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"2.24: the plugins of profiler and tuner", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
     "PROFILER/Plugin: Could not find: libnccl-profiler.so.\n"
     "TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner plugin.\n"
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"2.28: assigned, data direct, GIN", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so\n"
     "Call to mlx5dv_get_data_direct_sysfs_path failed with error No such device errno 19\n"
     "NET/IB : Made virtual device [0] name=mlx5_0 speed=400000 ndevs=1\n"
     "Initialized NET plugin IB\nAssigned NET plugin IB to comm\n"
     "GIN/Plugin: Failed to initialize any GIN plugin\nUsing network IB\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA(PCI)/Shared",
     by_ib},
    {"2.30: stamped lines", "verbs",
     "[2026-11-20 10:00:00] h:7:40 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so\n"
     "[2026-11-20 10:00:00] h:7:40 [0] NCCL INFO Using network IB\n"
     "[2026-11-20 10:00:01] h:7:41 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via "
     "NET/IB/0/GDRDMA",
     by_ib},
    {"calls that an adapter lacks", "verbs",
     "Call to ibv_query_ece not supported\nCall to ibv_set_ece skipped, internal_name doesn't "
     "exist\n"
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"a memory region that is only tried", "verbs",
     "Call to ibv_reg_mr failed with error Bad address\nUsing network IB\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"a connection at the second try", "verbs",
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
     "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state "
     "INIT, "
     "next state RTR, local GID index 3, local GID ::ffff:10.1.0.1, remote GID ::ffff:10.1.0.2, "
     "retrying 1/35 after 100 msec of sleep",
     by_ib},
    {"a device that belongs to another container", "verbs",
     "h:7:40 [0] misc/ibvwrap.cc:97 NCCL WARN Call to ibv_open_device failed\n"
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"HPC-X: its plugin", "verbs",
     "Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so\nP2P plugin IBext_v8\n"
     "NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP [RO]; OOB bond0:10.1.0.1<0>\n"
     "Using network IBext_v8\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IBext_v8/0/GDRDMA\n"
     "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA",
     "network: 1 rank on 1 node communicated by IBext_v8 with GPUDirect"},
    {"UCX's plugin", "verbs",
     "Using network UCX\nChannel 00/0 : 1[0] -> 0[0] [receive] via NET/UCX/0/GDRDMA",
     "network: 1 rank on 1 node communicated by UCX with GPUDirect"},
    {"RCCL: channels with their communicator", "verbs",
     "h:7:40 [0] NCCL INFO NET/Plugin: Could not find: librccl-net.so. Using internal net plugin.\n"
     "RCCL version : 2.27.7-HEAD:5b27b96\nHIP version  : 7.0.51831\nUsing network IB\n"
     "Channel 00/0 : 8[d6000] -> 0[d6000] [receive] via NET/IB/2/GDRDMA comm 0x9bbf3b0 nRanks 16\n"
     "Channel 00/0 : 0[d6000] -> 1[d9000] via P2P/IPC comm 0x9bbf3b0 nRanks 16",
     by_ib},
    {"PXN: an adapter of another GPU", "verbs",
     "Using network IB\nChannel 00/0 : 3[3] -> 9[1] [send] via NET/IB/1(1)/GDRDMA/Shared", by_ib},
    {"GPUs without NVLink: NCCL reads by the host's memory", "verbs",
     "Using network IB\nChannel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0",
     by_ib},
    {"two communicators, one within the node", "verbs",
     "Using network IB\nChannel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\nUsing network IB\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     by_ib},
    {"NVLink between hosts", "verbs",
     "Using network IB\ncomm 0x7 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 1\n"
     "Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL",
     ""},
    {"one node, sockets never used", "verbs",
     "NET/IB : No device found.\nNET/Socket : Using [0]eth0:10.1.0.1<0>\nUsing network Socket\n"
     "Channel 00/02 :    0   1\nChannel 00/0 : 0[0] -> 1[1] via SHM/direct/direct",
     ""},
    {"EFA by the OFI plugin", "aws-efa",
     "NET/OFI Initializing aws-ofi-nccl 1.16.3\nNET/OFI Using Libfabric version 2.1\n"
     "h:7:40 [0] platform_init:371 NCCL WARN NET/OFI Could not find ncclGetVersion symbol\n"
     "NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)\n"
     "Using network AWS Libfabric\n"
     "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/2/GDRDMA",
     by_efa},
    {"EFA of an instance without GPUDirect", "aws-efa",
     "NET/OFI Selected provider is efa, fabric is efa (found 4 nics)\n"
     "Using network AWS Libfabric\n"
     "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/2",
     "network: 1 rank on 1 node communicated by AWS Libfabric / warning: n0: 1 of 1 rank "
     "communicated without GPUDirect RDMA, which gives about half of the bandwidth (only P "
     "instances from p4d "
     "on have it; libfabric before 1.18 needs FI_EFA_USE_DEVICE_RDMA=1)"},
    {"Slingshot, RCCL's OFI plugin", "slingshot",
     "NET/OFI Selected Provider is cxi (found 4 nics)\nUsing network AWS Libfabric\n"
     "Channel 00/0 : 4092[d6000] -> 0[d6000] [receive] via NET/AWS Libfabric/2/GDRDMA comm "
     "0x9bbf3b0 nRanks 4096",
     by_efa},
    {"Google's FasTrak", "gcp-tcpxo",
     "NET/FasTrak plugin initialized\nUsing network FasTrak\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/FasTrak/0/GDRDMA",
     "network: 1 rank on 1 node communicated by FasTrak with GPUDirect"},
    // Jobs whose traffic went another way: one line says why, the one that explains it.
    {"2.10: sockets, no device", "verbs",
     "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n"
     "NET/IB : No device found.\nNET/Socket : Using [0]eth0:10.1.0.1<0>\nUsing network Socket\n"
     "Channel 00 : 0[1b000] -> 8[1b000] [send] via NET/Socket/0",
     BY_SOCKET("NET/IB : No device found.")},
    {"2.23: sockets, no verbs library in the image", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
     "Failed to open libibverbs.so[.1]\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     BY_SOCKET("Failed to open libibverbs.so[.1]")},
    {"2.28: sockets, IB not initialized", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so\nNET/IB : No device found.\n"
     "Failed to initialize NET plugin IB\nInitialized NET plugin Socket\nUsing network Socket\n"
     "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0",
     BY_SOCKET("NET/IB : No device found.")},
    {"sockets: switched off", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
     "NCCL_IB_DISABLE set by environment to 1.\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     BY_SOCKET("NCCL_IB_DISABLE set by environment to 1.")},
    {"sockets: RCCL", "verbs",
     "NET/Plugin: Could not find: librccl-net.so. Using internal network plugin.\n"
     "NET/IB : No device found.\nUsing network Socket\n"
     "Channel 00/0 : 0[d6000] -> 8[d6000] [send] via NET/Socket/0 comm 0x9bbf3b0 nRanks 16",
     BY_SOCKET("NET/IB : No device found.")},
    {"sockets: many communicators say the same", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/Plugin: Could not find: libnccl-net.so\nNET/Plugin: Could not find: libnccl-net.so\n"
     "NET/IB : No device found.\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     BY_SOCKET("NET/IB : No device found.")},
    {"sockets where there is nothing else", "plain",
     "NET/Plugin: Could not find: libnccl-net.so\nNET/IB : No device found.\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     "network: 1 rank on 1 node communicated by Socket / "
     "warning: n0: NCCL said: NET/IB : No device found."},
    {"EFA: the plugin is missing", "aws-efa",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
     "NET/IB : No device found.\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     "network: 1 rank on 1 node communicated by Socket / "
     "warning: n0: NCCL used plain sockets instead of the plugin for Amazon EFA / warning: n0: "
     "NCCL said: NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."},
    {"EFA: the plugin does not start", "aws-efa",
     "h:7:40 [0] nccl_net_ofi_create_plugin:335 NCCL WARN NET/OFI aws-ofi-nccl initialization "
     "failed\nNET/IB : No device found.\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     "network: 1 rank on 1 node communicated by Socket / "
     "warning: n0: NCCL used plain sockets instead of the plugin for Amazon EFA / warning: n0: "
     "NCCL said: NET/OFI aws-ofi-nccl initialization failed"},
    {"EFA: the plugin needs a newer libc", "aws-efa",
     "NET/Plugin: libnccl-net.so: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found\n"
     "NET/IB : No device found.\nUsing network Socket\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
     "network: 1 rank on 1 node communicated by Socket / "
     "warning: n0: NCCL used plain sockets instead of the plugin for Amazon EFA / warning: n0: "
     "NCCL said: NET/Plugin: libnccl-net.so: /lib/x86_64-linux-gnu/libc.so.6: version "
     "`GLIBC_2.38' not found"},
    {"gIB: NCCL's own transport in its place", "gcp-gib",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
     "network: 1 rank on 1 node communicated by IB with GPUDirect / warning: n0: NCCL used its own "
     "InfiniBand transport instead of the plugin for Google A3 Ultra, A4 and A4X, gIB over RoCE / "
     "warning: "
     "n0: NCCL said: NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."},
    {"no GPUDirect", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so\nUsing network IB\n"
     "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/9\n"
     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/9",
     "network: 1 rank on 1 node communicated by IB / warning: n0: 1 of 1 rank communicated without "
     "GPUDirect RDMA, which gives about half of the bandwidth (run `toprun doctor` on this node)"},
    // Failures, whatever the network.
    {"a link that does not answer", "verbs",
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
     "h:7:41 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer "
     "10.1.0.2<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)",
     "network: 1 rank on 1 node communicated by IB with GPUDirect / warning: n0: NCCL said: NET/IB "
     ": Got completion from peer 10.1.0.2<33092> with error 12, opcode 0, len 0, vendor err 129 "
     "(Recv)"},
    {"2.28: a link that does not answer", "verbs",
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
     "[2026-09-09 10:46:33] h:7:41 [1] transport/net_ib/p2p.cc:648 NCCL WARN NET/IB: Got "
     "completion "
     "from peer 10.1.0.2<40554> with status=IBV_WC_RETRY_EXC_ERR(12)",
     "network: 1 rank on 1 node communicated by IB with GPUDirect / warning: n0: NCCL said: "
     "NET/IB: "
     "Got completion from peer 10.1.0.2<40554> with status=IBV_WC_RETRY_EXC_ERR(12)"},
    {"a connection that fails", "verbs",
     "Using network IB\nChannel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
     "h:7:41 [0] misc/ibvwrap.cc:160 NCCL WARN Call to ibv_modify_qp failed with error Connection "
     "timed out errno 110",
     "network: 1 rank on 1 node communicated by IB with GPUDirect / warning: n0: NCCL said: Call "
     "to "
     "ibv_modify_qp failed with error Connection timed out errno 110"},
    {"no network of that name", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
     "h:7:40 [0] net.cc:512 NCCL WARN Error: network AWS Libfabric not found.",
     "warning: n0: NCCL said: Error: network AWS Libfabric not found."},
    {"2.27: no network at all", "verbs",
     "NET/Plugin: Could not find: libnccl-net.so\n"
     "[2026-09-09 10:46:33] h:7:40 [0] plugin/net.cc:339 NCCL WARN Failed to initialize any NET "
     "plugin",
     "warning: n0: NCCL said: Failed to initialize any NET plugin"},
};

NodeFabric node_called(std::string_view kind) {
  NodeFabric node;
  if (kind == "verbs") {
    for (const char* name : {"mlx5_0", "mlx5_1"}) {
      Port port;
      port.link_layer = LinkLayer::infiniband;
      port.state = PortState::active;
      port.rate_gbps = 400;
      port.lid = 1;
      Device device;
      device.name = name;
      device.ports = {port};
      node.devices.push_back(device);
    }
  } else if (kind != "plain") {
    node.profile = find_profile(kind);
    EXPECT_NE(node.profile, nullptr) << kind;
  }
  node.choice = choose_ports(node.devices, node.interfaces);
  return node;
}

NcclLog log_of(std::string_view lines) {
  NcclLogReader reader;
  for (const std::string_view line : split(lines, '\n')) {
    const bool is_whole = line.find(" NCCL ") != line.npos || line.find("CCL version") != line.npos;
    if (!is_whole) reader.read("h:7:40 [0] NCCL INFO ");
    reader.read(line);
    reader.read("\n");
  }
  return reader.log();
}

TEST(NcclForms, EachHasItsVerdict) {
  for (const Form& form : forms) {
    const NetworkUse use = judge(std::vector{log_of(form.lines)}, {}, node_called(form.node));
    EXPECT_EQ(join(network_lines(std::vector<NetworkByHost>{{"n0", use}}), " / "), form.reported)
        << form.name;
  }
}

TEST(NcclForms, VersionsOfBothLibraries) {
  const std::pair<const char*, const char*> rows[] = {
      {"NCCL version 2.10.3+cuda11.3\n", "2.10.3"},
      {"h:7:40 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n", "2.28.9"},
      {"[2026-11-20 10:00:00] h:7:40 [0] NCCL INFO NCCL version 2.30.7+cuda13.1\n", "2.30.7"},
      {"RCCL version 2.18.6+hip6.0 HEAD:8ca7e3b\n", "2.18.6"},
      {"RCCL version : 2.27.7-HEAD:5b27b96\n", "2.27.7"},
      {"h:7:40 [0] NCCL INFO RCCL version : 2.27.7-HEAD:5b27b96\n", "2.27.7"},
      {"h:7:40 [0] NCCL INFO NET/X built for NCCL version 2.19.4\n", ""},
  };
  for (const auto& [line, version] : rows) {
    NcclLogReader reader;
    reader.read(line);
    const auto& found = reader.log().version;
    EXPECT_EQ(found ? text_of(*found) : "", version) << line;
  }
}

}  // namespace
}  // namespace toprun::fabric
