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

// Parses error.json, the error file that PyTorch writes for a worker. The time of the error in the
// file has only whole seconds; `modified`, the file's modification time, makes it more precise. The
// returned time is between `started` and now. Null if the text is not an error file.
std::optional<model::ErrorFile> parse_error_file(const std::string& text, const std::string& path,
                                                 WallTime modified, SteadyTime started);

// Returns the text for toprun's own error file after a worker has failed. It is the worker's error
// file, `text`, to which the worker's exit code is added (-N for signal N), as torchrun does in
// dump_error_file (torch/distributed/elastic/multiprocessing/errors/error_handler.py). Error: the
// text is not a JSON object.
Result<std::string> error_file_for_launcher(const std::string& text, const model::WorkerExit& exit);

// Replaces the file `to` with error_file_for_launcher() of the file `from`.
Result<void> copy_error_file(const std::string& from, const model::WorkerExit& exit,
                             const std::string& to);

// Finds processes that the kernel's out-of-memory killer has killed since this object was
// constructed. Uses the kernel's log, if it is readable and contains process ids of our PID
// namespace, and the kill counter of our memory cgroup.
class OomWatch {
 public:
  OomWatch();
  // Returns a phrase that explains the SIGKILL of the process with this id; empty without evidence.
  std::string evidence(pid_t pid);

 private:
  std::string logged(pid_t pid);

  Fd log_;               // /dev/kmsg, positioned at the first record after construction
  std::string seen_;     // the records that report a kill
  std::string counter_;  // the path of the cgroup's counter file; empty: no such file
  std::int64_t before_ = 0;
};

// Returns N of the line "oom_kill N" in memory.events (cgroup v2) or memory.oom_control (v1); null
// if the text has no such line.
std::optional<std::int64_t> oom_kills(std::string_view text);

// Returns the path of the file with this counter, below /sys/fs/cgroup. `cgroups`: the text of
// /proc/self/cgroup (cgroups(7)). If the memory controller has a v1 hierarchy, the counter's file
// is in it, else in the v2 hierarchy.
std::string oom_counter(std::string_view cgroups);

// Returns the text of a /dev/kmsg record ("6,12,345,-;text") that says that the out-of-memory
// killer has killed a process; empty for other records. Format: mm/oom_kill.c.
std::string_view oom_text(std::string_view record);
// Whether a text from oom_text() names this process as the one that was killed.
bool names_victim(std::string_view text, pid_t pid);

}  // namespace toprun::worker
