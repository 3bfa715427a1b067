#include "scheduler/gpus.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace toprun::scheduler {
namespace {

namespace fs = std::filesystem;

// The entries of a visible-devices list that count.
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

// Of those named, the ones that exist: CUDA ends the list at the first index that does not.
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

// /proc lists what the driver has, also what a container was not given; /dev holds what it was.
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

// What the container runtime was told to give us: it may have let more devices through than asked.
// "void" only means that somebody else (CDI) gives the devices.
GpuCount cut_down_by_runtime(GpuCount physical, const Environment& environment) {
  constexpr const char* variable = "NVIDIA_VISIBLE_DEVICES";
  const auto list = environment.non_empty(variable);
  if (!list || *list == "all" || *list == "void") return physical;
  if (*list == "none") return {0, variable};
  const int named = static_cast<int>(parse_devices(*list).entries.size());
  return named > 0 && named < physical.count ? GpuCount{named, variable} : physical;
}

}  // namespace

GpuCount visible_gpus(const Environment& environment, const fs::path& root) {
  if (GpuCount nvidia = nvidia_gpus(root); nvidia.count > 0) {
    if (environment.has("CUDA_VISIBLE_DEVICES")) {
      return cut_down(std::move(nvidia), environment, "CUDA_VISIBLE_DEVICES");
    }
    if (mig_instances(root) > 0) return {1, "/proc/driver/nvidia/capabilities, MIG"};
    return cut_down_by_runtime(std::move(nvidia), environment);
  }
  if (GpuCount amd = amd_gpus(root); amd.count > 0) {
    // ROCR_VISIBLE_DEVICES chooses among all, the other among those; HIP reads CUDA's name as well.
    amd = cut_down(std::move(amd), environment, "ROCR_VISIBLE_DEVICES");
    return cut_down(
        std::move(amd), environment,
        environment.has("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES");
  }
  return {0, "no GPU driver"};
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

}  // namespace toprun::scheduler
