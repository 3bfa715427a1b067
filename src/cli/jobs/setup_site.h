#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/text/error.h"
#include "node/plan/setup/record.h"

namespace toprun::jobs {

// The place where toprun setup builds something: a virtual environment's folder or an image's file,
// with its record (node/plan/setup/record.h).

// What is at the place. `finished`: toprun setup built exactly this there.
enum class Site { free, finished };

// Whether it may be built there: nothing is there, or an empty folder, or what toprun setup has
// left unfinished and works on no more; with `force` also what it has finished. `asked` is what it
// is to be made of, `own_job` the job that asks. Error: whose it is, or what it is made of.
Result<Site> look_at_site(const std::string& built, const std::vector<std::string>& asked,
                          bool force, const std::string& own_job, const Environment& environment);

// Whether the engine knows this job as one that waits or runs. Error: it cannot be asked.
Result<bool> is_alive(const std::string& job, const Environment& environment);

// Records that this job will build it.
Result<void> note_submission(const std::string& built, const std::string& job);

// A lock that toprun and the programs that it started hold while they build there: a pip whose
// toprun was killed goes on writing. It locks nothing on file systems without locks.
class SiteLock {
 public:
  explicit SiteLock(Fd file) : file_(std::move(file)), kept_(file_.get()) {}

 private:
  const Fd file_;
  const process::KeptByCommands kept_;
};

Result<std::unique_ptr<SiteLock>> lock_site(const std::string& built);

// Records the beginning of a build: host, time, machine.
setup::Record begun_record(const Environment& environment);

// Records how the build ended.
Result<void> end_record(const std::string& built, setup::Record& record, const Result<void>& done);

}  // namespace toprun::jobs
