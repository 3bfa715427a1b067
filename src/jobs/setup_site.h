#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "setup/record.h"

namespace toprun::jobs {

// The place where toprun setup builds something: a virtual environment's folder or an image's file,
// with its record (setup/record.h).

// What is at the place. `finished`: toprun setup has built just this there.
enum class Site { free, finished };

// Whether it may be built there: nothing is there, or an empty folder, or what toprun setup has
// left unfinished and works on no more; with `force` also what it has finished. `asked` is what it
// is to be made of, `own_job` the job that asks. Error: whose it is, or what it is made of.
Result<Site> look_at_site(const std::string& built, const std::vector<std::string>& asked,
                          bool force, const std::string& own_job, const Environment& environment);

// Whether the engine knows this job as one that waits or runs. Error: it cannot be asked.
Result<bool> is_alive(const std::string& job, const Environment& environment);

// Notes that this job is to build it.
Result<void> note_submission(const std::string& built, const std::string& job);

// Held as long as somebody builds there, toprun or what it has started. File systems without locks
// lock nothing.
Result<Fd> lock_site(const std::string& built);

// What is known when a build begins: host, time, machine.
setup::Record begun_record(const Environment& environment);

// Writes how the build ended.
Result<void> end_record(const std::string& built, setup::Record& record, const Result<void>& done);

}  // namespace toprun::jobs
