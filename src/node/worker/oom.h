#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/fd.h"

namespace toprun::worker {

// Finds processes that the kernel's out-of-memory killer has killed since this object was
// constructed. The sources of an OomWatch are the kernel's log, if the log is readable and uses our
// process ids, and the kill counter of our memory cgroup.
class OomWatch {
 public:
  OomWatch();
  // A phrase that explains the SIGKILL of the process with this id; empty without evidence.
  std::string evidence(pid_t pid);

 private:
  std::string logged(pid_t pid);

  Fd log_;               // /dev/kmsg, positioned at the first record after construction
  std::string seen_;     // the records that report a kill
  std::string counter_;  // the path of the cgroup's counter file; empty: no such file
  std::int64_t before_ = 0;
};

// The value N of "oom_kill N" in memory.events (cgroup v2) or memory.oom_control (v1); null if the
// text has no such value.
std::optional<std::int64_t> oom_kills(std::string_view text);

// The path below /sys/fs/cgroup of the counter file, from /proc/self/cgroup (cgroups(7)). If the
// memory controller has a v1 hierarchy, the file is in this hierarchy, else in the v2 hierarchy.
std::string oom_counter(std::string_view cgroups);

// The text of a /dev/kmsg record ("6,12,345,-;text") that says that the out-of-memory killer has
// killed a process; empty for other records. names_victim(): whether such a text names this
// process. Format: mm/oom_kill.c.
std::string_view oom_text(std::string_view record);
bool names_victim(std::string_view text, pid_t pid);

}  // namespace toprun::worker
