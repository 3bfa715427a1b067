#include "node/worker/spawn/descendants.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/os/files.h"
#include "base/process/child.h"
#include "base/process/process_tree.h"
#include "base/text/text.h"

namespace toprun::spawn {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds reap_interval{5};

// Commands that this process runs for itself belong to no rank.
std::vector<pid_t> descendants_but(pid_t spared) {
  const process::StartsPaused paused;
  auto found = process::descendants_without(::getpid(), paused.commands());
  std::erase(found, spared);
  return found;
}

constexpr char zombie = 'Z';

struct Seen {
  std::string name;
  char state;
  std::string where;  // the kernel function that it waits in
};

// proc(5): PID/stat, and that of PID/task/TID, is "ID (NAME) STATE …".
std::optional<Seen> seen_in(const std::string& folder) {
  const auto stat = read_file(folder + "/stat");
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || name_end + 2 >= stat->size()) return std::nullopt;
  const std::size_t name = stat->find('(') + 1;
  return Seen{stat->substr(name, name_end - name), (*stat)[name_end + 2],
              read_file(folder + "/wchan").value_or("")};
}

}  // namespace

int signal_descendants(int signal, pid_t spared) {
  const auto found = descendants_but(spared);
  for (const pid_t pid : found) process::signal_process(pid, signal);
  return static_cast<int>(found.size());
}

bool until_childless(int signal, std::chrono::milliseconds limit, const process::Beat& beat) {
  const auto deadline = steady_clock::now() + limit;
  for (;;) {
    int status = 0;
    pid_t pid = 0;
    do {
      pid = process::reap_any(status);
    } while (pid > 0);
    if (pid < 0) return true;
    if (steady_clock::now() >= deadline) return false;
    if (signal != 0) signal_descendants(signal);
    if (beat) beat();
    const timespec pause{0, std::chrono::nanoseconds(reap_interval).count()};
    ::nanosleep(&pause, nullptr);
  }
}

void notify_groups(std::span<const pid_t> leaders, int signal) {
  std::set<pid_t> signalled;  // includes copies of signalled processes
  for (const pid_t pid : process::descendants(::getpid())) {  // parents first
    const bool in_group = std::ranges::find(leaders, ::getpgid(pid)) != leaders.end();
    if (!in_group || !catches(pid, signal)) continue;
    const auto parent = process::parent_of(pid);
    const bool by_parent = parent && signalled.contains(*parent) && process::is_copy(pid, *parent);
    if (!by_parent) process::signal_process(pid, signal);
    signalled.insert(pid);
  }
}

// proc(5): /proc/PID/status has a mask in hexadecimal, bit n-1 for signal n.
bool catches(pid_t pid, int signal) {
  constexpr std::string_view label = "SigCgt:";
  const auto status = read_file(fmt::format("/proc/{}/status", pid));
  if (!status) return false;
  const std::size_t at = status->find(label);
  if (at == std::string::npos) return false;
  const std::uint64_t mask = std::strtoull(status->c_str() + at + label.size(), nullptr, 16);
  return (mask >> (signal - 1) & 1) != 0;
}

std::string describe_process(pid_t pid) {
  auto shown = seen_in(fmt::format("/proc/{}", pid));
  if (!shown) return fmt::format("{}", pid);
  if (shown->state == zombie) {
    const std::string threads = fmt::format("/proc/{}/task", pid);
    for (const pid_t thread : process::numbered_entries(threads)) {
      const auto other = seen_in(fmt::format("{}/{}", threads, thread));
      if (other && other->state != zombie) shown = other;
    }
  }
  const std::string& where = shown->where;
  return fmt::format("{} ({}, state {}{})", pid, printable(shown->name), shown->state,
                     where.empty() || where == "0" ? "" : " in " + printable(where));
}

bool nothing_below_but(pid_t spared) {
  return descendants_but(spared).empty();
}

std::vector<std::string> describe_descendants(pid_t spared) {
  std::vector<std::string> words;
  for (const pid_t pid : descendants_but(spared)) words.push_back(describe_process(pid));
  return words;
}

void become_subreaper() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool is_subreaper() {
  int is_one = 0;
  return ::prctl(PR_GET_CHILD_SUBREAPER, &is_one) == 0 && is_one != 0;
}

}  // namespace toprun::spawn
