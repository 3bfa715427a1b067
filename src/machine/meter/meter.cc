#include "machine/meter/meter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/os/files.h"
#include "base/process/command.h"
#include "base/process/process_tree.h"
#include "base/text/text.h"
#include "machine/fabric/counters.h"
#include "machine/fabric/sysfs.h"
#include "machine/stacks/proc.h"

namespace toprun::meter {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr int most_percent = 100;

std::optional<std::uint64_t> count_of(std::string_view text) {
  return fabric::parse_count(trim(text));
}

NamedGpu gpu_in(std::string_view line) {
  const auto fields = split(line, ',');
  if (fields.size() != 4) return {};
  // For what is not known it prints "[N/A]", "[Unknown Error]", "[GPU requires reset]" and the
  // like.
  NamedGpu named{std::string(trim(fields[0])), {}};
  const auto percent = count_of(fields[1]), used = count_of(fields[2]), total = count_of(fields[3]);
  if (!used) return named;
  Gpu& gpu = named.gpu.emplace();
  if (percent) gpu.percent = static_cast<int>(std::min<std::uint64_t>(*percent, most_percent));
  gpu.memory_bytes = *used * mib;
  gpu.memory_total_bytes = total.value_or(0) * mib;
  return named;
}

std::vector<NamedGpu> read_amd_gpus(const fabric::Sysfs& sysfs) {
  const std::string drm = "sys/class/drm";
  std::vector<NamedGpu> gpus;
  for (const std::string& name : sysfs.names(drm)) {
    const bool is_card = name.starts_with("card") && !name.contains('-');
    const std::string device = drm + "/" + name + "/device";
    const auto percent = is_card ? sysfs.number(device + "/gpu_busy_percent") : std::nullopt;
    if (!percent) continue;
    const auto bytes = [&](const char* file) {
      return static_cast<std::uint64_t>(
          std::max<std::int64_t>(sysfs.number(device + "/" + file).value_or(0), 0));
    };
    gpus.push_back({"", Gpu{static_cast<int>(std::clamp<std::int64_t>(*percent, 0, most_percent)),
                            bytes("mem_info_vram_used"), bytes("mem_info_vram_total")}});
  }
  return gpus;
}

constexpr std::size_t most_processes = 4'096;  // of a rank

std::string contents(const std::filesystem::path& path) {
  return read_file(path).value_or("");
}

std::uint64_t number(std::string_view text) {
  return fabric::parse_count(text).value_or(0);
}

double rate(std::uint64_t before, std::uint64_t now, double seconds) {
  return now <= before ? 0 : static_cast<double>(now - before) / seconds;
}

double ticks_per_second() {
  return static_cast<double>(stacks::ticks_per_second());
}

// The numbers of the line "cpu  user nice system idle iowait irq softirq steal …" of /proc/stat,
// all but idle and iowait. What guests take is in user already.
std::uint64_t busy_ticks(std::string_view stat) {
  constexpr std::size_t first = 1, idle = 4, iowait = 5, last = 8;
  const auto fields = words(stat.substr(0, stat.find('\n')));
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < std::min(fields.size(), last + 1); ++i) {
    if (i != idle && i != iowait) sum += number(fields[i]);
  }
  return sum;
}

}  // namespace

std::vector<NamedGpu> parse_nvidia_smi(std::string_view text) {
  std::vector<NamedGpu> gpus;
  for (const std::string_view line : split(text, '\n')) {
    const bool is_warning = line.starts_with("WARNING:");  // "infoROM is corrupted at gpu …"
    if (!trim(line).empty() && !is_warning) gpus.push_back(gpu_in(line));
  }
  return gpus;
}

std::vector<NamedGpu> read_gpus(const Environment& environment, const std::filesystem::path& root) {
  const auto reported =
      process::output_of({"nvidia-smi", "--query-gpu=uuid,utilization.gpu,memory.used,memory.total",
                          "--format=csv,noheader,nounits"},
                         environment, nvidia_limit);
  return reported ? parse_nvidia_smi(*reported) : read_amd_gpus(fabric::Sysfs(root));
}

std::optional<std::size_t> gpu_of(std::size_t local_rank, const std::optional<std::string>& visible,
                                  const std::vector<NamedGpu>& gpus) {
  std::size_t number = local_rank;
  if (visible) {
    const auto listed = split(*visible, ',');
    if (listed.size() != 1 && local_rank >= listed.size()) return std::nullopt;
    const std::string_view name = trim(listed[listed.size() == 1 ? 0 : local_rank]);
    const auto named = std::ranges::find_if(
        gpus, [&](const NamedGpu& gpu) { return !name.empty() && gpu.uuid.starts_with(name); });
    if (named != gpus.end()) return static_cast<std::size_t>(named - gpus.begin());
    const auto index = parse_int(name);
    if (!index || *index < 0) return std::nullopt;
    number = static_cast<std::size_t>(*index);
  }
  return number < gpus.size() ? std::optional(number) : std::nullopt;
}

bool LastGpus::begin(SteadyTime now) {
  const std::lock_guard lock(lock_);
  if (is_looked_at_ || (due_ && now < *due_)) return false;
  is_looked_at_ = true;
  return true;
}

void LastGpus::end(std::vector<NamedGpu> gpus, SteadyTime now) {
  {
    const std::lock_guard lock(lock_);
    gpus_ = std::move(gpus);
    due_ = now + (gpus_.empty() ? after_vain_gpu_look : between_gpu_looks);
    is_looked_at_ = false;
  }
  ended_.notify_all();
}

std::vector<NamedGpu> LastGpus::read(std::chrono::milliseconds patience) {
  std::unique_lock lock(lock_);
  ended_.wait_for(lock, patience, [&] { return !is_looked_at_; });
  return gpus_;
}

Meter::Meter(std::filesystem::path root) : root_(std::move(root)) {}

Node Meter::look(std::span<const pid_t> ranks) {
  const Time now = std::chrono::steady_clock::now();
  const double seconds = last_ == Time{} ? 0 : std::chrono::duration<double>(now - last_).count();
  last_ = now;
  Node node;
  node.host = host(seconds);
  for (const pid_t pid : ranks) node.ranks.push_back(rank(pid, seconds));
  ticks_ = std::exchange(now_, {});
  return node;
}

Rank Meter::rank(pid_t pid, double seconds) {
  Rank rank;
  if (pid == 0) return rank;
  std::vector<pid_t> tree = process::descendants(pid, most_processes);
  tree.push_back(pid);
  std::uint64_t ticks = 0, pages = 0;
  for (const pid_t one : tree) {
    const auto stat = stacks::parse_stat(contents(root_ / fmt::format("proc/{}/stat", one)));
    if (!stat) continue;
    ticks += stat->cpu_ticks;
    pages += stat->resident_pages;
  }
  if (ticks == 0 && pages == 0) return rank;
  rank.memory_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  now_[pid] = ticks;
  const auto before = ticks_.find(pid);
  if (before != ticks_.end() && seconds > 0) {
    rank.cpus = rate(before->second, ticks, seconds) / ticks_per_second();
  }
  return rank;
}

Meter::Totals Meter::totals() const {
  const fabric::Traffic traffic = fabric::read_traffic(fabric::Sysfs(root_));
  return {busy_ticks(contents(root_ / "proc/stat")), traffic.received_bytes, traffic.sent_bytes};
}

Host Meter::host(double seconds) {
  Host host;
  host.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const std::string memory = contents(root_ / "proc/meminfo");
  host.memory_total_bytes = stacks::labelled_bytes(memory, "MemTotal").value_or(0);
  const std::uint64_t available = stacks::labelled_bytes(memory, "MemAvailable").value_or(0);
  host.memory_bytes = host.memory_total_bytes - std::min(host.memory_total_bytes, available);
  const Totals now = totals();
  if (totals_ && seconds > 0) {
    host.busy_cpus = rate(totals_->busy_ticks, now.busy_ticks, seconds) / ticks_per_second();
    host.received_bytes_per_s = rate(totals_->received_bytes, now.received_bytes, seconds);
    host.sent_bytes_per_s = rate(totals_->sent_bytes, now.sent_bytes, seconds);
  }
  totals_ = now;
  return host;
}

}  // namespace toprun::meter
