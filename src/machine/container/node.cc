#include "machine/container/node.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::container {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_cdi_files = 1000;
constexpr std::size_t max_cdi_bytes = 1u << 20;

bool there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A CDI file says in its head, as `kind: nvidia.com/gpu`, what devices it describes.
bool describes_nvidia_gpus(const fs::path& file) {
  const auto text = read_plain_file(file, max_cdi_bytes);
  return text && text->contains("nvidia.com/gpu");
}

bool has_nvidia_cdi(const fs::path& folder) {
  std::error_code trouble;
  std::size_t seen = 0;
  for (fs::directory_iterator entry(folder, trouble), end; !trouble && entry != end;
       entry.increment(trouble)) {
    if (++seen > max_cdi_files) return false;
    const std::string suffix = entry->path().extension();
    const bool is_cdi = suffix == ".yaml" || suffix == ".yml" || suffix == ".json";
    if (is_cdi && describes_nvidia_gpus(entry->path())) return true;
  }
  return false;
}

std::optional<rlim_t> hard_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_max;
}

// Podman lowers its own limit of processes to the kernel's largest process id, so what a container
// asks for above that is refused (podman 4.3, measured).
std::optional<rlim_t> largest_process_id(const fs::path& root) {
  const auto text = read_file(root / "proc/sys/kernel/pid_max");
  if (!text) return std::nullopt;
  const auto number = parse_int(trim(*text));
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<rlim_t>(*number);
}

// The kernel's own limit, Debian's switch and Ubuntu's for programs without an AppArmor profile.
std::string userns_off(const fs::path& root) {
  struct Setting {
    const char* file;
    std::string_view name;
    std::string_view off;
  };
  constexpr std::array settings{
      Setting{"user/max_user_namespaces", "user.max_user_namespaces", "0"},
      Setting{"kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", "0"},
      Setting{"kernel/apparmor_restrict_unprivileged_userns",
              "kernel.apparmor_restrict_unprivileged_userns", "1"}};
  for (const Setting& setting : settings) {
    const auto text = read_file(root / "proc/sys" / setting.file);
    if (text && trim(*text) == setting.off) return fmt::format("{}={}", setting.name, setting.off);
  }
  return {};
}

std::optional<rlim_t> lower_of(std::optional<rlim_t> a, std::optional<rlim_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

Node find_node(std::string host, const fs::path& root) {
  Node node{.host = std::move(host), .uid = geteuid(), .gid = getegid()};
  node.nvidia = there(root / "dev/nvidiactl");
  node.nvidia_cdi = has_nvidia_cdi(root / "etc/cdi") || has_nvidia_cdi(root / "var/run/cdi");
  node.amd = there(root / "dev/kfd");
  if (there(root / "dev/infiniband")) node.rdma_devices.emplace_back("/dev/infiniband");
  node.userns_off = userns_off(root);
  node.hard_memlock = hard_limit(RLIMIT_MEMLOCK);
  node.hard_nofile = hard_limit(RLIMIT_NOFILE);
  node.hard_nproc = lower_of(hard_limit(RLIMIT_NPROC), largest_process_id(root));
  return node;
}

std::vector<std::string> renumbered_gpus(const Environment& environment) {
  auto of_node = environment.non_empty("SLURM_STEP_GPUS");
  if (!of_node) of_node = environment.non_empty("SLURM_JOB_GPUS");
  const auto of_job = environment.non_empty("CUDA_VISIBLE_DEVICES");
  if (!of_node || !of_job || *of_node == *of_job) return {};
  std::vector<std::string> numbers;
  for (const std::string_view number : split(*of_node, ',')) {
    if (!parse_int(number)) return {};
    numbers.emplace_back(number);
  }
  return numbers.size() == split(*of_job, ',').size() ? numbers : std::vector<std::string>();
}

}  // namespace toprun::container
