#include "machine/container/runtimes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
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

std::string quoted(const std::string& value) {
  std::string out;
  for (const char c : value) out.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", out);
}

}  // namespace

std::vector<std::string> Runtime::notes(const Run& run) const {
  std::vector<std::string> lines;
  for (const auto& [annotation, value] : run.request.annotations) {
    lines.push_back(fmt::format("annotation {}: has no effect with {}", annotation, name()));
  }
  return lines;
}

Result<Command> Runtime::build(std::string_view, const std::string& file,
                               const Environment&) const {
  return usage("image file " + file, fmt::format("{} cannot build image files", name()),
               "give the name of a .sif file (Apptainer) or a .sqsh file (enroot)");
}

std::span<const Runtime* const> runtimes() {
  static const std::array all{&pyxis(),       &enroot(), &apptainer(),
                              &singularity(), &podman(), &docker()};
  return all;
}

namespace {

// The runtimes of this node.
struct Here {
  const Environment& environment;
  const process::IsExecutable& is_executable;
  bool pyxis = false;

  bool has(const Runtime& runtime) const {
    if (runtime.program().empty()) return pyxis;
    return process::find_program(std::string(runtime.program()), environment, is_executable)
        .has_value();
  }
};

// How to make the runtime available.
std::string remedy(const Runtime& runtime) {
  if (runtime.program().empty()) {
    return "pyxis is a plugin of Slurm, which only administrators can install; choose another "
           "runtime";
  }
  return fmt::format("install {0}, or load {0} with --modules {0} if the site has {0} as a module",
                     runtime.name());
}

std::unexpected<Error> absent(const Runtime& runtime) {
  if (runtime.program().empty()) {
    return fail("--container-runtime pyxis",
                "this Slurm's srun does not have the option --container-image", remedy(runtime));
  }
  return fail(fmt::format("--container-runtime {}", runtime.name()),
              fmt::format("there is no {} in PATH", runtime.program()), remedy(runtime));
}

std::unexpected<Error> none_here(const Request& request,
                                 const std::vector<const Runtime*>& taking) {
  std::vector<std::string> programs;
  for (const Runtime* runtime : taking) {
    programs.emplace_back(runtime->program().empty() ? "srun --container-image (pyxis)"
                                                     : runtime->program());
  }
  std::string why = fmt::format("none of {} is in PATH", fmt::join(programs, ", "));
  return fail(fmt::format("no container runtime for image {}", printable(request.image)),
              std::move(why),
              "install a container runtime, or load one with --modules apptainer if the site has "
              "Apptainer as a module");
}

Result<const Runtime*> choose_named(const Request& request, const Here& here) {
  const Runtime* runtime = find_runtime(request.runtime);
  if (runtime == nullptr) {
    const auto names = runtime_names();
    const auto nearest = did_you_mean(request.runtime, names);
    return usage(fmt::format("--container-runtime {}", printable(request.runtime)),
                 fmt::format("must be auto or one of {}", fmt::join(names, ", ")),
                 nearest ? fmt::format("did you mean {}?", *nearest) : "");
  }
  TRY(runtime->accepts(request.image));
  if (!here.has(*runtime)) return absent(*runtime);
  return runtime;
}

}  // namespace

const Runtime* find_runtime(std::string_view name) {
  const auto all = runtimes();
  const auto found = std::ranges::find(all, name, &Runtime::name);
  return found == all.end() ? nullptr : *found;
}

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const Runtime* runtime : runtimes()) names.emplace_back(runtime->name());
  return names;
}

Result<const Runtime*> choose(const Request& request, const Environment& environment,
                              const process::IsExecutable& is_executable, bool engine_has_pyxis) {
  const Here here{environment, is_executable, engine_has_pyxis};
  if (request.runtime != "auto") return choose_named(request, here);
  std::vector<const Runtime*> taking;
  std::optional<Error> refusal;
  for (const Runtime* runtime : runtimes()) {
    auto taken = runtime->accepts(request.image);
    if (!taken) {
      if (!refusal) refusal = std::move(taken.error());
      continue;
    }
    if (here.has(*runtime)) return runtime;
    taking.push_back(runtime);
  }
  if (taking.empty()) return std::unexpected(std::move(*refusal));
  return none_here(request, taking);
}

std::string variable_word(const std::string& name, const std::string& value,
                          Environment& environment) {
  if (holds_a_secret(name, value)) environment.set(name, value);
  return environment.get(name) == value ? name : fmt::format("{}={}", name, value);
}

std::string mount_form(const Bind& bind) {
  return fmt::format("type=bind,{},{}{}", quoted("source=" + bind.source),
                     quoted("destination=" + bind.target), bind.read_only ? ",ro" : "");
}

void add_binds(Arguments& words, const Run& run, const char* flag) {
  for (const Bind& bind : in_order(run.binds)) {
    if ((bind.source + bind.target).find_first_of(":,\"") != std::string::npos) {
      words.add("--mount", mount_form(bind));
    } else {
      words.add(flag,
                fmt::format("{}:{}{}", bind.source, bind.target, bind.read_only ? ":ro" : ""));
    }
  }
}

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
