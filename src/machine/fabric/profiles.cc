#include "machine/fabric/profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace toprun::fabric {
namespace {

constexpr std::string_view read_on = "2026-11";

constexpr Clue tcpxo_clues[] = {{ClueKind::path, "var/lib/tcpxo/lib64/nccl-env-profile.sh"}};
constexpr ProfileVariable tcpxo_variables[] = {
    {"NCCL_LIB_DIR", "/var/lib/tcpxo/lib64"},
    {"LD_LIBRARY_PATH", "+/var/lib/tcpxo/lib64"},
    {"NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY", "/dev/aperture_devices", "dev/aperture_devices"},
};

constexpr Clue gib_clues[] = {{ClueKind::path, "usr/local/gib/scripts/set_nccl_env.sh"}};
constexpr ProfileVariable gib_variables[] = {
    {"NCCL_NET", "gIB"},
    {"LD_LIBRARY_PATH", "+/usr/local/gib/lib64"},
};

constexpr Clue tcpx_clues[] = {{ClueKind::path, "var/lib/tcpx/lib64"}};
// The interfaces of the virtual machine, named by their PCI locations. In GKE's pods they have
// other names, and GKE's own manifest sets the variables.
constexpr ProfileVariable tcpx_variables[] = {
    {"NCCL_NET", "GPUDirectTCPX_v7"},
    {"LD_LIBRARY_PATH", "+/var/lib/tcpx/lib64"},
    {"NCCL_SOCKET_IFNAME", "enp0s12", "sys/class/net/enp0s12"},
    {"NCCL_GPUDIRECTTCPX_CTRL_DEV", "enp0s12", "sys/class/net/enp0s12"},
    {"NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "enp6s0,enp12s0,enp134s0,enp140s0",
     "sys/class/net/enp6s0"},
    {"NCCL_CROSS_NIC", "0"},
    {"NCCL_ALGO", "Ring"},
    {"NCCL_PROTO", "Simple"},
    {"NCCL_NSOCKS_PERTHREAD", "4"},
    {"NCCL_SOCKET_NTHREADS", "1"},
    {"NCCL_DYNAMIC_CHUNK_SIZE", "524288"},
    {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
    {"NCCL_P2P_PCI_CHUNKSIZE", "524288"},
    {"NCCL_P2P_NVL_CHUNKSIZE", "1048576"},
    {"NCCL_BUFFSIZE", "4194304"},
    {"NCCL_NET_GDR_LEVEL", "PIX"},
    {"NCCL_P2P_PXN_LEVEL", "0"},
    {"NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS", "500000"},
    {"NCCL_GPUDIRECTTCPX_TX_BINDINGS",
     "enp6s0:8-21,112-125;enp12s0:8-21,112-125;enp134s0:60-73,164-177;enp140s0:60-73,164-177",
     "sys/class/net/enp6s0"},
    {"NCCL_GPUDIRECTTCPX_RX_BINDINGS",
     "enp6s0:22-35,126-139;enp12s0:22-35,126-139;enp134s0:74-87,178-191;enp140s0:74-87,178-191",
     "sys/class/net/enp6s0"},
};

constexpr Clue efa_clues[] = {{ClueKind::vendor, "0x1d0f"}};

constexpr Clue azure_ndv5_clues[] = {{ClueKind::dmi, "sys_vendor=Microsoft Corporation"},
                                     {ClueKind::path, "opt/microsoft/ndv5/topo.xml"}};
constexpr ProfileVariable azure_ndv5_variables[] = {
    {"NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml"},
    {"NCCL_IB_PCI_RELAXED_ORDERING", "1"},
    {"NCCL_IGNORE_CPU_AFFINITY", "1"},
};
constexpr Clue azure_ndv4_clues[] = {{ClueKind::dmi, "sys_vendor=Microsoft Corporation"},
                                     {ClueKind::path, "opt/microsoft/ndv4/topo.xml"}};
constexpr ProfileVariable azure_ndv4_variables[] = {
    {"NCCL_TOPO_FILE", "/opt/microsoft/ndv4/topo.xml"},
    {"NCCL_IB_PCI_RELAXED_ORDERING", "1"},
    {"NCCL_IGNORE_CPU_AFFINITY", "1"},
};

constexpr Clue oci_clues[] = {{ClueKind::dmi, "chassis_asset_tag=OracleCloud.com"},
                              {ClueKind::vendor, "0x15b3"}};
constexpr ProfileVariable oci_variables[] = {{"NCCL_IB_TC", "41"},
                                             {"NCCL_IB_SL", "0"},
                                             {"NCCL_IB_TIMEOUT", "22"},
                                             {"NCCL_IB_SPLIT_DATA_ON_QPS", "0"},
                                             {"NCCL_IB_GID_INDEX", "3"}};

constexpr Clue slingshot_clues[] = {{ClueKind::path, "sys/class/cxi"}};
constexpr ProfileVariable slingshot_variables[] = {
    {"NCCL_NET", "AWS Libfabric"},
    {"NCCL_NET_GDR_LEVEL", "PHB"},
    {"NCCL_CROSS_NIC", "1"},
    {"NCCL_PROTO", "^LL128"},
    {"FI_CXI_DEFAULT_CQ_SIZE", "131072"},
    {"FI_CXI_DEFAULT_TX_SIZE", "16384"},
    {"FI_CXI_DISABLE_HOST_REGISTER", "1"},
    {"FI_CXI_RX_MATCH_MODE", "software"},
    {"FI_MR_CACHE_MONITOR", "userfaultfd"},
};

constexpr Clue amd_clues[] = {{ClueKind::path, "sys/module/amdgpu"}, {ClueKind::path, "dev/kfd"}};

constexpr std::array<Profile, 9> all = {{
    {"gcp-tcpxo", "Google A3 Mega, GPUDirect-TCPXO", tcpxo_clues,
     "/var/lib/tcpxo/lib64/nccl-env-profile.sh", tcpxo_variables,
     "the RxDM daemon must run; Google's guest checker ends jobs whose values differ from its file",
     "google/nccl-plugin-gpudirect-tcpxo: tcpxo_scripts", read_on, true},
    {"gcp-gib", "Google A3 Ultra, A4 and A4X, gIB over RoCE", gib_clues,
     "/usr/local/gib/scripts/set_nccl_env.sh", gib_variables, "",
     "GoogleCloudPlatform/cluster-toolkit: a3-ultragpu-8g/nccl-tests", read_on, true},
    {"gcp-tcpx", "Google A3 High, GPUDirect-TCPX", tcpx_clues, "", tcpx_variables,
     "the TCPX daemon must run", "GoogleCloudPlatform/cluster-toolkit: a3-highgpu-8g/nccl-tests",
     read_on, true},
    {"aws-efa",
     "Amazon EFA",
     efa_clues,
     "",
     {},
     "the OFI plugin sets what an instance type needs; the security group must allow traffic from "
     "and to itself",
     "aws/aws-ofi-nccl: src/platform-aws.cpp, doc/efa-env-var.md, issues 313 and 547",
     read_on,
     true,
     "only P instances from p4d on have it; libfabric before 1.18 needs FI_EFA_USE_DEVICE_RDMA=1"},
    {"azure-ndv5", "Azure ND H100 v5 and H200 v5", azure_ndv5_clues, "", azure_ndv5_variables, "",
     "Azure/azhpc-images: customizations/ndv5.sh", read_on},
    {"azure-ndv4", "Azure ND A100 v4", azure_ndv4_clues, "", azure_ndv4_variables, "",
     "Azure/azhpc-images: customizations/ndv4.sh", read_on},
    {"oci", "Oracle Cloud, RoCE cluster network", oci_clues, "", oci_variables, "",
     "oracle-quickstart/oci-hpc-oke: docs/recommended-nccl-rccl-parameters-by-shape.md", read_on},
    {"slingshot", "HPE Slingshot (cxi)", slingshot_clues, "", slingshot_variables,
     "NCCL's OFI plugin must be installed; LL128 has corrupted data on GH200",
     "eth-cscs/cscs-docs: docs/software/communication/nccl_env_vars", read_on, true},
    {"amd",
     "AMD GPUs, RCCL",
     amd_clues,
     "",
     {},
     "RCCL reads NCCL's variables; toprun chooses adapters for RCCL as for NCCL",
     "ROCm/rccl: docs",
     read_on},
}};

bool has_text(const Sysfs& sysfs, std::string_view field_and_text) {
  const auto equals = field_and_text.find('=');
  const std::string field(field_and_text.substr(0, equals));
  const auto text = sysfs.text("sys/class/dmi/id/" + field);
  return text && text->find(field_and_text.substr(equals + 1)) != std::string::npos;
}

bool holds(const Clue& clue, const Sysfs& sysfs, std::span<const Device> devices) {
  switch (clue.kind) {
    case ClueKind::path:
      return sysfs.exists(std::string(clue.text));
    case ClueKind::dmi:
      return has_text(sysfs, clue.text);
    case ClueKind::vendor:
      return std::ranges::find(devices, clue.text, &Device::vendor) != devices.end();
  }
  return false;
}

std::string text_of(const Clue& clue) {
  switch (clue.kind) {
    case ClueKind::path:
      return fmt::format("/{} is there", clue.text);
    case ClueKind::dmi:
      return fmt::format("/sys/class/dmi/id: {}", clue.text);
    case ClueKind::vendor:
      return fmt::format("an RDMA device of PCI vendor {}", clue.text);
  }
  return {};
}

}  // namespace

std::span<const Profile> profiles() {
  return all;
}

const Profile* find_profile(std::string_view name) {
  const auto found = std::ranges::find(all, name, &Profile::name);
  return found == all.end() ? nullptr : &*found;
}

const Profile* detect_profile(const Sysfs& sysfs, std::span<const Device> devices) {
  const auto found = std::ranges::find_if(all, [&](const Profile& profile) {
    return std::ranges::all_of(profile.clues,
                               [&](const Clue& clue) { return holds(clue, sysfs, devices); });
  });
  return found == all.end() ? nullptr : &*found;
}

std::string absent_mark(const Profile& profile, const Sysfs& sysfs,
                        std::span<const Device> devices) {
  const auto absent = std::ranges::find_if(
      profile.clues, [&](const Clue& clue) { return !holds(clue, sysfs, devices); });
  if (absent == profile.clues.end()) return {};
  switch (absent->kind) {
    case ClueKind::path:
      return fmt::format("/{} does not exist", absent->text);
    case ClueKind::dmi:
      return fmt::format("/sys/class/dmi/id does not contain {}", absent->text);
    case ClueKind::vendor:
      return fmt::format("there is no RDMA device of PCI vendor {}", absent->text);
  }
  return {};
}

std::string evidence_of(const Profile& profile) {
  std::string text;
  for (const Clue& clue : profile.clues) {
    text += (text.empty() ? "" : "; ") + text_of(clue);
  }
  return text;
}

}  // namespace toprun::fabric
