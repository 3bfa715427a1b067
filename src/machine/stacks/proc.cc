#include "machine/stacks/proc.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <functional>
#include <string_view>

#include "base/os/files.h"
#include "base/process/process_tree.h"
#include "base/text/text.h"
#include "machine/stacks/within.h"

namespace toprun::stacks {
namespace {

std::optional<std::uint64_t> number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The rest of the line that begins with "NAME:".
std::optional<std::string_view> labelled(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return trim(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

// "start-end perms offset device inode path", the path after blanks and with blanks of its own.
std::optional<Mapping> parse_mapping(std::string_view line) {
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto fields = words(line.substr(0, slash));
  if (fields.size() != 5) return std::nullopt;
  const auto range = split(fields[0], '-');
  if (range.size() != 2 || fields[1].size() < 4) return std::nullopt;
  const auto start = number(range[0], 16);
  const auto end = number(range[1], 16);
  const auto offset = number(fields[2], 16);
  if (!start || !end || !offset || *end <= *start) return std::nullopt;
  return Mapping{*start, *end, *offset, fields[1][1] == 'w', std::string(line.substr(slash))};
}

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

std::optional<Stat> parse_stat(std::string_view text) {
  // The name is in parentheses and may itself contain any character.
  const std::size_t name = text.find('(');
  const std::size_t name_end = text.rfind(')');
  if (name == std::string_view::npos || name_end == std::string_view::npos || name_end < name) {
    return std::nullopt;
  }
  const auto fields = words(text.substr(name_end + 1));  // from the third on
  constexpr std::size_t state = 0, minflt = 7, cminflt = 8, majflt = 9, cmajflt = 10, utime = 11,
                        stime = 12, cutime = 13, cstime = 14, num_threads = 17, rss = 21;
  if (fields.size() <= num_threads || fields[state].size() != 1) return std::nullopt;
  const auto sum = [&](std::initializer_list<std::size_t> places) {
    std::uint64_t total = 0;
    for (const std::size_t place : places) total += number(fields[place]).value_or(0);
    return total;
  };
  Stat out;
  out.command = text.substr(name + 1, name_end - name - 1);
  out.state = fields[state][0];
  out.minor_faults = sum({minflt, cminflt});
  out.major_faults = sum({majflt, cmajflt});
  out.cpu_ticks = sum({utime, stime, cutime, cstime});
  out.reaped_ticks = sum({cutime, cstime});
  out.threads = static_cast<int>(std::min<std::uint64_t>(sum({num_threads}), 1u << 30));
  if (fields.size() > rss) out.resident_pages = sum({rss});
  return out;
}

std::string contents_of(const std::string& path) {
  return read_file(path).value_or("");
}

std::optional<std::uint64_t> labelled_number(std::string_view text, std::string_view name) {
  const auto value = labelled(text, name);
  return value ? number(*value) : std::nullopt;
}

std::optional<std::uint64_t> labelled_bytes(std::string_view text, std::string_view name) {
  const auto fields = words(labelled(text, name).value_or(""));
  const auto kib = fields.empty() ? std::nullopt : number(fields[0]);
  return kib ? std::optional(*kib << 10) : std::nullopt;
}

std::optional<int> inner_id(std::string_view status) {
  const auto ids = labelled(status, "NSpid");
  const auto numbers = words(ids.value_or(""));
  const auto id = numbers.empty() ? std::nullopt : parse_int(numbers.back());
  return id && *id > 0 && *id < 1 << 30 ? std::optional(static_cast<int>(*id)) : std::nullopt;
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> out;
  for (const std::string_view line : split(text, '\n')) {
    if (out.size() == most_mappings) break;
    if (auto mapping = parse_mapping(line)) out.push_back(std::move(*mapping));
  }
  return out;
}

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
