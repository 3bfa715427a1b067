#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace toprun::agent {

// What the kernel says about processes that its out-of-memory killer ended since this was made: its
// log, where we may read it and it names processes as we do, and the count of our memory cgroup.
class OomWatch {
 public:
  OomWatch();
  // A phrase about the process with this id, which SIGKILL ended; empty if nothing speaks for it.
  std::string evidence(pid_t pid);

 private:
  std::string logged(pid_t pid);

  Fd log_;               // /dev/kmsg, at the first record that was written after the start
  std::string seen_;     // those of its records that tell of a kill
  std::string counter_;  // the cgroup's file; empty: none
  std::int64_t before_ = 0;
};

// "oom_kill N" of memory.events (cgroup v2) or memory.oom_control (v1); null if it has none.
std::optional<std::int64_t> oom_kills(std::string_view text);

// Which file below /sys/fs/cgroup counts the kills, by /proc/self/cgroup (cgroups(7)): the v1
// hierarchy of the memory controller if there is one, else the v2 one.
std::string oom_counter(std::string_view cgroups);

// The text of a record of /dev/kmsg ("6,12,345,-;text") if it says that the out-of-memory killer
// ended a process, else empty; and whether such a text names this one. Format: mm/oom_kill.c.
std::string_view oom_text(std::string_view record);
bool names_victim(std::string_view text, pid_t pid);

}  // namespace toprun::agent
