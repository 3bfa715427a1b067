#include "machine/stacks/usage.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <string_view>

#include "base/process/process_tree.h"
#include "base/text/text.h"
#include "machine/stacks/proc.h"
#include "machine/stacks/within.h"

namespace toprun::stacks {
namespace {

constexpr std::size_t most_counted = 4'096;

std::chrono::nanoseconds time_of(std::uint64_t ticks) {
  return std::chrono::nanoseconds(std::chrono::seconds(1)) / ticks_per_second() * ticks;
}

struct Runs {
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};  // for a CPU
  std::uint64_t turns = 0;
};

// Of a process's main thread.
std::optional<Runs> runs_of(pid_t pid) {
  const std::string text = contents_of(fmt::format("/proc/{}/schedstat", pid));
  const auto fields = words(text);
  if (fields.size() != 3) return std::nullopt;
  const auto ran = parse_int(fields[0]);
  const auto waited = parse_int(fields[1]);
  const auto turns = parse_int(fields[2]);
  if (!ran || !waited || !turns) return std::nullopt;
  return Runs{std::chrono::nanoseconds(*ran), std::chrono::nanoseconds(*waited),
              static_cast<std::uint64_t>(*turns)};
}

// By all threads of a process, those that have ended included.
std::optional<std::chrono::nanoseconds> cpu_clock(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void add_children(Usage& usage, pid_t pid) {
  for (const pid_t below : process::descendants(pid, most_counted)) {
    const auto stat = parse_stat(contents_of(fmt::format("/proc/{}/stat", below)));
    if (!stat) continue;
    ++usage.processes;
    usage.child_cpu += time_of(stat->cpu_ticks);
    if (const auto runs = runs_of(below)) usage.child_cpu += runs->waited;
  }
}

std::optional<Usage> usage_of_tree(pid_t pid) {
  const std::string process = fmt::format("/proc/{}", pid);
  const std::string main_thread = fmt::format("{}/task/{}", process, pid);
  const auto all = parse_stat(contents_of(process + "/stat"));
  const auto main = parse_stat(contents_of(main_thread + "/stat"));
  if (!all || !main) return std::nullopt;
  Usage usage{.state = main->state};
  const auto runs = runs_of(pid);
  const auto clock = cpu_clock(pid);
  const bool is_exact = runs && clock;
  const auto reaped = time_of(all->reaped_ticks);
  usage.main_cpu = is_exact ? runs->ran + reaped : time_of(main->cpu_ticks);
  usage.cpu = is_exact ? *clock + reaped : time_of(all->cpu_ticks);
  usage.processes = 1;
  usage.main_faults = main->minor_faults;
  const std::string io = contents_of(main_thread + "/io");
  for (const char* name : {"rchar", "wchar"}) {
    usage.main_bytes += labelled_number(io, name).value_or(0);
  }
  add_children(usage, pid);
  return usage;
}

}  // namespace

std::optional<Usage> usage(pid_t pid) {
  const std::function<std::optional<Usage>()> work = [pid] { return usage_of_tree(pid); };
  return within(usage_limit, work).value_or(std::nullopt);
}

std::optional<Pulse> pulse(pid_t pid) {
  const auto runs = runs_of(pid);
  const auto clock = cpu_clock(pid);
  const auto stat = parse_stat(contents_of(fmt::format("/proc/{}/stat", pid)));
  if (!runs || !clock || !stat) return std::nullopt;
  return Pulse{stat->state, runs->turns, *clock};
}

std::uint64_t ticks_per_second() {
  return static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

pid_t outer_id(pid_t inner, std::span<const std::string> entries) {
  for (const pid_t pid : process::numbered_entries("/proc")) {
    if (inner_id(contents_of(fmt::format("/proc/{}/status", pid))) != inner) continue;
    const std::string text = contents_of(fmt::format("/proc/{}/environ", pid));
    const std::vector<std::string_view> own = split(text, '\0');
    const bool has_all = std::ranges::all_of(entries, [&](const std::string& entry) {
      return std::ranges::find(own, entry) != own.end();
    });
    if (has_all) return pid;
  }
  return 0;
}

bool has_gpu(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return false;
  bool found = false;
  while (const dirent* const entry = ::readdir(dir)) {
    std::array<char, 32> target{};
    const std::string link = fmt::format("{}/{}", folder, entry->d_name);
    if (::readlink(link.c_str(), target.data(), target.size()) <= 0) continue;
    const std::string_view device(target.data(), target.size());
    found = found || device.starts_with("/dev/nvidia") || device.starts_with("/dev/kfd");
  }
  ::closedir(dir);
  return found;
}

}  // namespace toprun::stacks
