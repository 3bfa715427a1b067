#include "engines/gpus.h"

#include <algorithm>
#include <map>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::engines {
namespace {

namespace fs = std::filesystem;

// The valid entries of a visible-devices list.
struct Named {
  std::vector<std::string> entries;
  bool by_index = false;
};

Named parse_devices(std::string_view list) {
  Named named;
  list = trim(list);
  const std::string_view kind = list.starts_with("GPU-")   ? "GPU-"
                                : list.starts_with("MIG-") ? "MIG-"
                                                           : "";
  named.by_index = kind.empty();
  for (const std::string_view raw : split(list, ',')) {
    const std::string_view entry = trim(raw);
    const bool counts =
        named.by_index ? parse_int(entry).value_or(-1) >= 0 : entry.starts_with(kind);
    if (!counts) break;
    if (std::ranges::find(named.entries, entry) != named.entries.end()) return {{}, named.by_index};
    named.entries.emplace_back(entry);
  }
  if (kind == "MIG-" && named.entries.size() > 1) named.entries.resize(1);
  return named;
}

// The named devices up to the first index that does not exist, where CUDA ends the list.
int existing(const Named& named, int physical) {
  const auto beyond = std::ranges::find_if(named.entries, [&](const std::string& entry) {
    return named.by_index && *parse_int(entry) >= physical;
  });
  return std::min(physical, static_cast<int>(beyond - named.entries.begin()));
}

template <class Keep>
int count_entries(const fs::path& folder, Keep keep) {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (keep(*i)) ++count;
  }
  return count;
}

bool is_nvidia_device(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename();
  constexpr std::string_view prefix = "nvidia";
  return name.starts_with(prefix) && parse_int(std::string_view(name).substr(prefix.size())) >= 0;
}

// Compute instances: capabilities/gpu0/mig/gi1/ci0.
int mig_instances(const fs::path& root) {
  int instances = 0;
  count_entries(root / "proc/driver/nvidia/capabilities", [&](const fs::directory_entry& gpu) {
    return count_entries(gpu.path() / "mig", [&](const fs::directory_entry& instance) {
             if (!instance.path().filename().string().starts_with("gi")) return false;
             instances += count_entries(instance.path(), [](const fs::directory_entry& compute) {
               return compute.path().filename().string().starts_with("ci");
             });
             return true;
           }) > 0;
  });
  return instances;
}

// /proc lists all devices of the driver, /dev only those that the container was given.
GpuCount nvidia_gpus(const fs::path& root) {
  const int listed = count_entries(root / "proc/driver/nvidia/gpus", [](auto&) { return true; });
  const int devices = count_entries(root / "dev", is_nvidia_device);
  if (listed > 0 && (devices == 0 || listed <= devices)) {
    return {listed, "/proc/driver/nvidia/gpus"};
  }
  return {devices, "/dev/nvidia*"};
}

// A node of the topology with SIMD units is a GPU, one without is a CPU
// (Linux: drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
bool is_amd_gpu(const fs::directory_entry& node) {
  const auto properties = read_file(node.path() / "properties");
  if (!properties) return false;
  for (const std::string_view line : split(*properties, '\n')) {
    const auto fields = words(line);
    if (fields.size() == 2 && fields[0] == "simd_count")
      return parse_int(fields[1]).value_or(0) > 0;
  }
  return false;
}

GpuCount amd_gpus(const fs::path& root) {
  std::error_code error;
  if (!fs::exists(root / "dev/kfd", error)) return {};
  return {count_entries(root / "sys/class/kfd/kfd/topology/nodes", is_amd_gpu),
          "/sys/class/kfd/kfd/topology"};
}

GpuCount cut_down(GpuCount physical, const Environment& environment, const char* variable) {
  const auto list = environment.get(variable);
  if (!list) return physical;
  return {existing(parse_devices(*list), physical.count), variable};
}

// The devices requested from the container runtime, which may have passed more than these.
// "void" only means that CDI provides the devices.
GpuCount cut_down_by_runtime(GpuCount physical, const Environment& environment) {
  constexpr const char* variable = "NVIDIA_VISIBLE_DEVICES";
  const auto list = environment.non_empty(variable);
  if (!list || *list == "all" || *list == "void") return physical;
  if (*list == "none") return {0, variable};
  const int named = static_cast<int>(parse_devices(*list).entries.size());
  return named > 0 && named < physical.count ? GpuCount{named, variable} : physical;
}

struct Device {
  std::string address;
  std::string uuid;  // empty if the driver does not say
};

// The value of a "Name: value" line of /proc/driver/nvidia/gpus/ADDRESS/information.
std::string_view information(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != line.npos && trim(line.substr(0, colon)) == name) {
      return trim(line.substr(colon + 1));
    }
  }
  return {};
}

// /proc lists GPUs that a container was not given: those have no /dev/nvidiaMINOR.
std::vector<Device> nvidia_devices(const fs::path& root) {
  const bool device_files = count_entries(root / "dev", is_nvidia_device) > 0;
  std::vector<Device> devices;
  count_entries(root / "proc/driver/nvidia/gpus", [&](const fs::directory_entry& gpu) {
    const std::string text = read_file(gpu.path() / "information").value_or("");
    const std::string_view minor = information(text, "Device Minor");
    std::error_code error;
    if (device_files && !minor.empty() &&
        !fs::exists(root / "dev" / fmt::format("nvidia{}", minor), error)) {
      return false;
    }
    devices.push_back({gpu.path().filename(), std::string(information(text, "GPU UUID"))});
    return true;
  });
  std::ranges::sort(devices, {}, &Device::address);
  return devices;
}

// location_id is bus, device and function as in a PCI request: 8, 5 and 3 bits.
std::vector<Device> amd_devices(const fs::path& root) {
  std::map<std::int64_t, Device> by_node;
  count_entries(root / "sys/class/kfd/kfd/topology/nodes", [&](const fs::directory_entry& node) {
    if (!is_amd_gpu(node)) return false;
    std::int64_t domain = 0;
    std::int64_t location = -1;
    const std::string properties = read_file(node.path() / "properties").value_or("");
    for (const std::string_view line : split(properties, '\n')) {
      const auto fields = words(line);
      if (fields.size() != 2) continue;
      if (fields[0] == "domain") domain = parse_int(fields[1]).value_or(0);
      if (fields[0] == "location_id") location = parse_int(fields[1]).value_or(-1);
    }
    if (location < 0) return false;
    by_node[parse_int(node.path().filename().string()).value_or(0)].address =
        fmt::format("{:04x}:{:02x}:{:02x}.{}", domain, (location >> 8) & 0xff,
                    (location >> 3) & 0x1f, location & 7);
    return true;
  });
  std::vector<Device> devices;
  for (auto& [node, device] : by_node) devices.push_back(std::move(device));
  return devices;
}

// The devices that the variable names, in its order.
Result<std::vector<Device>> chosen(std::vector<Device> devices, const Environment& environment,
                                   const char* variable) {
  const auto list = environment.get(variable);
  if (!list) return devices;
  const Named named = parse_devices(*list);
  std::vector<Device> out;
  for (const std::string& entry : named.entries) {
    if (named.by_index) {
      const auto index = static_cast<std::size_t>(*parse_int(entry));
      if (index >= devices.size()) break;
      out.push_back(devices[index]);
      continue;
    }
    const auto found = std::ranges::find_if(
        devices, [&](const Device& device) { return device.uuid.starts_with(entry); });
    if (found == devices.end()) {
      return fail(fmt::format("{}={}", variable, *list),
                  fmt::format("the driver does not report which GPU {} is", entry),
                  "name GPUs by index");
    }
    out.push_back(*found);
  }
  return out;
}

}  // namespace

GpuVendor gpu_vendor(const fs::path& root) {
  if (nvidia_gpus(root).count > 0) return GpuVendor::nvidia;
  return amd_gpus(root).count > 0 ? GpuVendor::amd : GpuVendor::none;
}

GpuCount visible_gpus(const Environment& environment, const fs::path& root) {
  if (GpuCount nvidia = nvidia_gpus(root); nvidia.count > 0) {
    if (environment.has("CUDA_VISIBLE_DEVICES")) {
      return cut_down(std::move(nvidia), environment, "CUDA_VISIBLE_DEVICES");
    }
    if (mig_instances(root) > 0) return {1, "/proc/driver/nvidia/capabilities, MIG"};
    return cut_down_by_runtime(std::move(nvidia), environment);
  }
  if (GpuCount amd = amd_gpus(root); amd.count > 0) {
    // ROCR_VISIBLE_DEVICES selects among all GPUs, HIP_VISIBLE_DEVICES among the remaining ones.
    // HIP reads CUDA's variable as well.
    amd = cut_down(std::move(amd), environment, "ROCR_VISIBLE_DEVICES");
    return cut_down(
        std::move(amd), environment,
        environment.has("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES");
  }
  return {0, "no GPU driver"};
}

GpuShare gpu_share(const Environment& environment, const fs::path& root) {
  const GpuCount nvidia = cut_down_by_runtime(nvidia_gpus(root), environment);
  if (nvidia.count == 0) return {amd_gpus(root).count, 0};
  return {nvidia.count,
          count_entries(root / "sys/bus/pci/drivers/nvidia", [](const fs::directory_entry& entry) {
            return entry.path().filename().string().contains(':');  // 0000:0f:00.0
          })};
}

Result<std::vector<std::string>> gpu_addresses(const Environment& environment,
                                               const fs::path& root) {
  Result<std::vector<Device>> devices;
  const GpuCount visible = visible_gpus(environment, root);
  if (nvidia_gpus(root).count > 0) {
    devices = chosen(nvidia_devices(root), environment, "CUDA_VISIBLE_DEVICES");
    const bool one_instance = visible.count == 1 && mig_instances(root) > 0;
    if (devices && one_instance && devices->size() > 1) devices->resize(1);
  } else if (amd_gpus(root).count > 0) {
    devices = chosen(amd_devices(root), environment, "ROCR_VISIBLE_DEVICES");
    if (devices) {
      devices = chosen(
          std::move(*devices), environment,
          environment.has("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES");
    }
  }
  if (!devices) return std::unexpected(devices.error());
  if (devices->empty() && visible.count > 0) {
    return fail(fmt::format("cannot find the PCI positions of the {} GPUs", visible.count),
                "their driver does not list PCI addresses");
  }
  std::vector<std::string> addresses;
  for (const Device& device : *devices) addresses.push_back(device.address);
  return addresses;
}

std::optional<GpuCount> named_gpus(const Environment& environment) {
  std::optional<GpuCount> least;
  for (const char* variable :
       {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const auto list = environment.get(variable);
    if (!list) continue;
    const int named = static_cast<int>(parse_devices(*list).entries.size());
    if (!least || named < least->count) least = GpuCount{named, variable};
  }
  return least;
}

}  // namespace toprun::engines
