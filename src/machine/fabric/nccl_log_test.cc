#include "machine/fabric/nccl_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace toprun::fabric {
namespace {

// Lines in the forms of NCCL's releases; the addresses are made up.
constexpr std::string_view infiniband_2_20 =
    "n0:101:101 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0\n"
    "NCCL version 2.20.5+cuda12.4\n"
    "n0:101:160 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
    "eth0:10.0.0.4<0>\n"
    "n0:101:160 [0] NCCL INFO Using non-device net plugin version 0\n"
    "n0:101:160 [0] NCCL INFO Using network IB\n"
    "n0:101:160 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
    "n0:101:160 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1/GDRDMA\n"
    "n0:101:160 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
    "n0:101:160 [0] NCCL INFO Connected all rings\n";
constexpr std::string_view roce_2_27 =
    "n1:7:40 [3] NCCL INFO NCCL version 2.27.3+cuda12.9\n"
    "n1:7:40 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_bond_0:1/RoCE [RO]; OOB "
    "eth0:10.0.0.5<0>\n"
    "n1:7:40 [3] NCCL INFO Assigned NET plugin IB to comm\n"
    "n1:7:40 [3] NCCL INFO Using network IB\n"
    "n1:7:40 [3] NCCL INFO Channel 00/0 : 3[3] -> 11[3] [send] via NET/IB/0(2)/GDRDMA(PCI)/Shared\n"
    "n1:7:40 [3] NCCL INFO Channel 01/0 : 11[3] -> 3[3] [receive] via NET/IB/1/Shared\n"
    "n1:7:40 [3] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n";
constexpr std::string_view roce_2_30 =
    "[2026-11-20 10:00:00] n1:7:40 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1:0:0/RoCE "
    "[1]mlx5_1:1:1:0/RoCE; OOB eth0:10.0.0.5<0>\n"
    "[2026-11-20 10:00:00] n1:7:40 [3] NCCL INFO Using network IB\n"
    "[2026-11-20 10:00:00] n1:7:40 [3] NCCL INFO Channel 02/1 : 3[3] -> 11[3] [send] via "
    "NET/IB/1\n";
constexpr std::string_view only_sockets =
    "n0:1:9 [0] NCCL INFO NET/IB : No device found.\n"
    "n0:1:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>\n"
    "n0:1:9 [0] NCCL INFO Using network Socket\n"
    "n0:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n";
constexpr std::string_view efa =
    "n0:1:9 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)\n"
    "n0:1:9 [0] NCCL INFO Using network AWS Libfabric\n"
    "n0:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA\n";
constexpr std::string_view no_plugin =
    "n0:1:9 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
    "n0:1:9 [0] NCCL WARN Error: network AWS Libfabric not found.\n";

NcclLog read(std::string_view text) {
  NcclLogReader reader;
  reader.read(text);
  return reader.log();
}

std::string reported(const NcclLog& log) {
  std::string text = log.version ? text_of(*log.version) : "?";
  for (const std::string& network : log.networks) text += " | " + network;
  for (const auto& [name, port] : log.adapters) text += fmt::format(" {}:{}", name, port);
  for (const auto& [name, transport] : log.transports) {
    text += fmt::format(" {}={}/{}/{}", name, transport.channels, transport.with_gpu_direct,
                        transport.through_proxy);
  }
  return text + fmt::format(" !{}", log.complaints.size());
}

TEST(NcclLog, TellsWhatEachVersionWrites) {
  EXPECT_EQ(reported(read(infiniband_2_20)),
            "2.20.5 | IB mlx5_0:1 mlx5_1:1 NET/IB=2/2/0 P2P=1/0/0 !0");
  EXPECT_EQ(reported(read(roce_2_27)), "2.27.3 | IB mlx5_0:1 mlx5_bond_0:1 NET/IB=2/1/1 !0");
  EXPECT_EQ(reported(read(roce_2_30)), "? | IB mlx5_0:1 mlx5_1:1 NET/IB=1/0/0 !0");
  EXPECT_EQ(reported(read(only_sockets)), "? | Socket NET/Socket=1/0/0 !1");
  EXPECT_EQ(reported(read(efa)), "? | AWS Libfabric NET/AWS Libfabric=1/1/0 !0");
  EXPECT_EQ(reported(read(no_plugin)), "? !2");
  EXPECT_FALSE(read(no_plugin).leaves_the_node());
  EXPECT_TRUE(read(efa).leaves_the_node());
}

// What differs between the releases: the words around the version, the adapters' line, the ring's.
struct Release {
  const char *version, *version_line, *adapters, *rings;
};
constexpr Release releases[] = {
    {"2.20.5", "NCCL version 2.20.5+cuda12.4", "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings"},
    {"2.21.5", "NCCL version 2.21.5+cuda12.4", "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings"},
    {"2.22.3", "h:1:9 [0] NCCL INFO NCCL version 2.22.3+cuda12.5",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>", "Connected all rings"},
    {"2.23.4", "h:1:9 [0] NCCL INFO NCCL version 2.23.4+cuda12.6",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE; OOB e:1<0>", "Connected all rings"},
    {"2.24.3", "h:1:9 [0] NCCL INFO NCCL version 2.24.3+cuda12.6",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings, use ring PXN 0 GDR 1"},
    {"2.25.1", "h:1:9 [0] NCCL INFO NCCL version 2.25.1+cuda12.8",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings, use ring PXN 0 GDR 1"},
    {"2.26.2", "h:1:9 [0] NCCL INFO NCCL version 2.26.2+cuda12.8",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings, use ring PXN 0 GDR 1"},
    {"2.27.3", "h:1:9 [0] NCCL INFO NCCL version 2.27.3+cuda12.9",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings, use ring PXN 0 GDR 1"},
    {"2.28.3", "h:1:9 [0] NCCL INFO NCCL version 2.28.3+cuda13.0",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1<0>",
     "Connected all rings, use ring PXN 0 GDR 1"},
    {"2.29.2", "h:1:9 [0] NCCL INFO NCCL version 2.29.2+cuda13.0",
     "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE; OOB e:1<0>", "Connected all rings, use ring PXN 0 GDR 1"},
    {"2.30.7", "[2026-11-20 10:00:00] h:1:9 [0] NCCL INFO NCCL version 2.30.7+cuda13.1",
     "[0]mlx5_0:1:0:0/RoCE [1]mlx5_1:1:1:0/RoCE; OOB e:1<0>",
     "Connected all rings, use ring PXN 0 GDR 1"},
};

std::string log_of(const Release& release, std::string_view network, std::string_view via) {
  constexpr const char* info = "h:1:9 [0] NCCL INFO ";
  std::string text = fmt::format("{}\n", release.version_line);
  text += network == "IB" ? fmt::format("{}NET/IB : Using {}\n", info, release.adapters)
                          : fmt::format("{}NET/IB : No device found.\n", info);
  text += fmt::format("{}Using network {}\n", info, network);
  text += fmt::format("{}Channel 00/0 : 0[0] -> 8[0] [send] via {}\n", info, via);
  return text + fmt::format("{}{}\n", info, release.rings);
}

TEST(NcclLog, EveryRelease) {
  for (const Release& release : releases) {
    const std::string version = release.version;
    EXPECT_EQ(reported(read(log_of(release, "IB", "NET/IB/0/GDRDMA"))),
              version + " | IB mlx5_0:1 mlx5_1:1 NET/IB=1/1/0 !0");
    EXPECT_EQ(reported(read(log_of(release, "IB", "NET/IB/1/Shared"))),
              version + " | IB mlx5_0:1 mlx5_1:1 NET/IB=1/0/0 !0");
    const NcclLog plain = read(log_of(release, "Socket", "NET/Socket/0"));
    EXPECT_EQ(reported(plain), version + " | Socket NET/Socket=1/0/0 !1");
    EXPECT_TRUE(uses_plain_sockets(plain));
  }
}

TEST(NcclLog, PassesOverWhatIsNotNccls) {
  const std::string long_line(10'000, 'x');
  const NcclLog log = read("Using network Socket\nChannel 00/0 : 0[0] -> 8[0] via NET/IB/0\n" +
                           long_line + " NCCL INFO Using network Socket\n" +
                           "n0:1:9 [0] NCCL INFO Channel 00/0 : x[0] -> 8[0] via NET/IB/0\n" +
                           "n0:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] via NET/IB/0/GDR\n");
  EXPECT_EQ(reported(log), "? !0");
  EXPECT_EQ(reported(read("NCCL version \nNCCL version x\n")), "? !0");
  EXPECT_EQ(log.passed_over, 1u);
}

// A text that is cut anywhere tells a part of what the whole one does, and nothing else; pieces of
// any size tell the same.
TEST(NcclLog, ACutTextNeverMisleads) {
  for (const auto whole : {infiniband_2_20, roce_2_27, roce_2_30, only_sockets, efa, no_plugin}) {
    const NcclLog all = read(whole);
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
      const NcclLog part = read(whole.substr(0, cut));
      EXPECT_TRUE(std::ranges::includes(all.networks, part.networks)) << whole.substr(0, cut);
      EXPECT_TRUE(std::ranges::includes(all.adapters, part.adapters)) << whole.substr(0, cut);
      for (const auto& [name, transport] : part.transports) {
        ASSERT_TRUE(all.transports.contains(name)) << name;
        EXPECT_LE(transport.channels, all.transports.at(name).channels);
      }
      NcclLogReader reader;
      reader.read(whole.substr(0, cut));
      reader.read(whole.substr(cut));
      EXPECT_EQ(reported(reader.log()), reported(all)) << cut;
    }
  }
}

}  // namespace
}  // namespace toprun::fabric
