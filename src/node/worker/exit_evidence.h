#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/fd.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "run/model/exit.h"

namespace toprun::worker {

// Parses an error.json. The time in the file has only whole seconds; `modified`, the file's
// modification time, makes the time more precise. The result is limited to the time from `started`
// to now. Null if the text is not an error file.
std::optional<model::ErrorFile> parse_error_file(const std::string& text, const std::string& path,
                                                 WallTime modified, SteadyTime started);

// The text of the launcher's own error file for a failed worker: the worker's error file plus the
// worker's exit code (-N for signal N). torchrun's dump_error_file
// (torch/distributed/elastic/multiprocessing/errors/error_handler.py) adds the exit code in the
// same way. An error if the text is not JSON.
Result<std::string> error_file_for_launcher(const std::string& text, const model::WorkerExit& exit);

// Replaces the file `to` with error_file_for_launcher() of the file `from`.
Result<void> copy_error_file(const std::string& from, const model::WorkerExit& exit,
                             const std::string& to);

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
