#include "cli/jobs/setup_site.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "base/net/address.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "engines/queue.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;
using setup::Record;
using setup::State;

constexpr std::size_t longest_os_release_bytes = 64 * 1024;

std::unexpected<Error> taken(const std::string& built, std::string why, std::string fix) {
  const char* option = setup::is_image(built) ? "--container" : "--venv";
  return usage(fmt::format("{} {}", option, built), std::move(why), std::move(fix));
}

// A folder without a record: it is new, or another user's.
Result<void> check_unknown(const std::string& built) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(built, error))) return {};
  const bool is_folder = fs::is_directory(built, error);
  if (!setup::is_image(built) && !is_folder)
    return taken(built, "it is not a folder", "name another path");
  if (is_folder && fs::is_empty(built, error)) return {};
  return taken(built, "it already exists, and toprun setup has not built it",
               "name another path, or remove this one");
}

Result<Site> compare(const std::string& built, const Record& known,
                     const std::vector<std::string>& asked) {
  const auto ended = time_in(known.ended);
  const std::string why = fmt::format("it already exists, built on {} at {}", known.host,
                                      ended ? time_text(*ended) : known.ended);
  if (known.asked.empty()) return taken(built, why, "--force builds it again");
  const std::string others = setup::contents_differences(known.asked, asked);
  if (others.empty()) return Site::finished;
  return taken(built, fmt::format("{}: {}", why, others),
               "--force builds it again as this command line says");
}

std::string os_release() {
  const auto text = read_file("/etc/os-release", longest_os_release_bytes);
  if (!text) return {};
  std::string id;
  std::string version;
  for (const std::string_view line : split(*text, '\n')) {
    std::string_view value = trim(line.substr(line.find('=') + 1));
    if (value.starts_with('"') && value.ends_with('"') && value.size() > 1) {
      value = value.substr(1, value.size() - 2);
    }
    if (line.starts_with("ID=")) id = value;
    if (line.starts_with("VERSION_ID=")) version = value;
  }
  return std::string(trim(id + ' ' + version));
}

}  // namespace

Result<bool> is_alive(const std::string& job, const Environment& environment) {
  const auto id = engines::parse_job_id(job);
  if (!id) return false;  // no record of ours has such a number
  const auto queue = TRY(engines::find_queue(environment));
  const auto found = TRY(queue->find(*id));
  return std::ranges::any_of(
      found, [](const engines::Job& one) { return !engines::has_ended(one.state); });
}

Result<Site> look_at_site(const std::string& built, const std::vector<std::string>& asked,
                          bool force, const std::string& own_job, const Environment& environment) {
  const auto record = setup::read_record(built);
  if (!record) return force ? Result<Site>(Site::free) : std::unexpected(record.error());
  if (!*record) {
    TRY(check_unknown(built));
    return Site::free;
  }
  const Record& known = **record;
  if (known.state == State::complete)
    return force ? Result<Site>(Site::free) : compare(built, known, asked);
  const bool is_others = !known.job.empty() && known.job != own_job;
  if (!is_others || known.state == State::failed) return Site::free;
  const auto alive = is_alive(known.job, environment);
  if (alive ? !*alive : force) return Site::free;
  if (!alive) {
    return taken(built,
                 fmt::format("job {} was submitted to build it, and may still do so: {}", known.job,
                             alive.error().line()),
                 "--force builds it anyway");
  }
  return taken(
      built, fmt::format("job {} is about to build it", known.job),
      fmt::format("toprun status {0} shows the job; toprun cancel {0} ends it", known.job));
}

Result<void> note_submission(const std::string& built, const std::string& job) {
  std::error_code error;
  fs::create_directories(setup::record_path(built).parent_path(), error);
  if (error) return fail("cannot make " + built, error.message());
  const auto now = setup::read_record(built);
  if (now && *now && (*now)->job == job) return {};  // it has begun meanwhile
  Record record;
  record.state = State::submitted;
  record.job = job;
  return setup::write_record(built, record);
}

Result<std::unique_ptr<SiteLock>> lock_site(const std::string& built) {
  const std::string folder = setup::record_path(built).parent_path();
  Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + folder);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return taken(built, "another toprun setup is building in this folder now",
                 "wait until it ends");
  }
  return std::make_unique<SiteLock>(std::move(file));
}

Record begun_record(const Environment& environment) {
  Record record;
  record.state = State::building;
  record.job = environment.get("SLURM_JOB_ID").value_or("");
  record.host = hosts::host_name();
  record.begun = rfc3339(std::chrono::system_clock::now());
  record.toprun = version;
  record.os = os_release();
  record.architecture = process::this_machine();
  return record;
}

Result<void> end_record(const std::string& built, Record& record, const Result<void>& done) {
  record.ended = rfc3339(std::chrono::system_clock::now());
  record.state = done ? State::complete : State::failed;
  if (!done) record.why = done.error().line();
  const auto noted = setup::write_record(built, record);
  return done ? noted : done;
}

}  // namespace toprun::jobs
