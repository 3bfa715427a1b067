#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/text/error.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::jobs {

// The path at which `toprun setup` builds: the folder of a virtual environment, or the file of a
// container image. The record of the setup is at this path too (node/plan/setup/setup_record.h).

// What exists at the path. `finished`: exactly what is requested, built by `toprun setup`. `free`:
// `toprun setup` may build there.
enum class Site { free, finished };

// Checks whether `toprun setup` may build at the path. It may build if nothing exists there, or
// only an empty folder, or an unfinished build on which no job works. With `force`, a finished
// build may be replaced. `asked` is the requested content; `own_job` is the id of the job in which
// this process runs. The error says what exists at the path, or which job uses it.
Result<Site> look_at_site(const std::string& built, const std::vector<std::string>& asked,
                          bool force, const std::string& own_job, const Environment& environment);

// Whether the job is pending or running, according to the engine. Error: the engine cannot be
// queried.
Result<bool> is_alive(const std::string& job, const Environment& environment);

// Writes a setup record which says that this job will build at the path.
Result<void> note_submission(const std::string& built, const std::string& job);

// A lock that toprun and its child programs hold while they build at the path. The child programs
// hold the lock too, because pip continues to write after the toprun that started it was killed. On
// file systems without locks, this class has no effect.
class SiteLock {
 public:
  explicit SiteLock(Fd file) : file_(std::move(file)), kept_(file_.get()) {}

 private:
  const Fd file_;
  const process::KeptByCommands kept_;
};

Result<std::unique_ptr<SiteLock>> lock_site(const std::string& built);

// Returns the setup record of a build that begins now on this host.
setup::Record begun_record(const Environment& environment);

// Records how the build ended.
Result<void> end_record(const std::string& built, setup::Record& record, const Result<void>& done);

}  // namespace toprun::jobs
