#include "cli/setup_build.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/utsname.h>

#include <cerrno>
#include <deque>
#include <filesystem>

#include "base/clock.h"
#include "base/console.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "base/version.h"
#include "base/watched.h"
#include "cli/print.h"
#include "hosts/address.h"
#include "launch/python.h"
#include "scheduler/queue.h"
#include "setup/pip.h"
#include "setup/record.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using setup::Record;
using setup::State;

constexpr std::size_t most_lines_kept = 400;      // of what a step prints
constexpr std::chrono::minutes import_limit{15};  // a first import from a network file system
constexpr std::size_t longest_os_release_bytes = 64 * 1024;

std::unexpected<Error> taken(const std::string& folder, std::string why, std::string fix) {
  return usage("--venv " + folder, std::move(why), std::move(fix));
}

// Only while somebody builds: the lock goes with its process. File systems without locks lock
// nothing.
Result<Fd> lock(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + folder);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return taken(folder, "another toprun setup builds it right now", "wait for its end");
  }
  return file;
}

std::string os_release() {
  const auto text = read_file("/etc/os-release", longest_os_release_bytes);
  if (!text) return {};
  std::string id;
  std::string version;
  for (const std::string_view line : toprun::split(*text, '\n')) {
    std::string_view value = trim(line.substr(line.find('=') + 1));
    if (value.starts_with('"') && value.ends_with('"') && value.size() > 1) {
      value = value.substr(1, value.size() - 2);
    }
    if (line.starts_with("ID=")) id = value;
    if (line.starts_with("VERSION_ID=")) version = value;
  }
  return std::string(trim(id + ' ' + version));
}

// What a build was doing and where, until it ends.
class Build {
 public:
  Build(const SetupOptions& options, Environment environment)
      : options_(options), wanted_(options.wanted), environment_(std::move(environment)) {}

  Result<void> run() {
    auto done = begin();
    if (!done) return done;
    done = build();
    record_.ended = rfc3339(std::chrono::system_clock::now());
    record_.state = done ? State::complete : State::failed;
    if (!done) record_.why = done.error().line();
    const auto noted = setup::write_record(wanted_.venv, record_);
    return done ? noted : done;
  }

  const Record& record() const { return record_; }

 private:
  Result<void> begin() {
    std::error_code error;
    fs::create_directories(wanted_.venv, error);
    if (error) return fail("cannot make " + wanted_.venv, error.message(), "check its folder");
    auto locked = lock(wanted_.venv);
    if (!locked) return std::unexpected(locked.error());
    lock_ = *std::move(locked);
    utsname system{};
    ::uname(&system);
    record_.state = State::building;
    record_.job = environment_.get("SLURM_JOB_ID").value_or("");
    record_.host = hosts::host_name();
    record_.begun = rfc3339(std::chrono::system_clock::now());
    record_.toprun = version;
    record_.os = os_release();
    record_.architecture = system.machine;
    for (const std::string& file : wanted_.requirement_files)
      record_.packages.push_back("-r " + file);
    record_.packages.insert(record_.packages.end(), wanted_.packages.begin(),
                            wanted_.packages.end());
    if (auto noted = setup::write_record(wanted_.venv, record_); !noted) return noted;
    return clear();
  }

  // What an earlier build has left.
  Result<void> clear() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(wanted_.venv, error)) {
      if (entry.path().filename() == setup::record_name) continue;
      fs::remove_all(entry.path(), error);
      if (error) return fail("cannot remove " + entry.path().string(), error.message());
    }
    return {};
  }

  Result<void> build() {
    auto activated = launch::activate(options_.activation, environment_, record_.host);
    if (!activated) return std::unexpected(activated.error());
    record_.modules =
        setup::loaded_modules(activated->environment.get("LOADEDMODULES").value_or(""));
    if (auto chosen = choose_python(activated->environment); !chosen) return chosen;
    environment_ = setup::build_environment(activated->environment);
    for (const setup::Step& step : setup::steps(wanted_, environment_)) {
      if (auto done = take(step); !done) return done;
    }
    return test_imports();
  }

  Result<void> choose_python(const Environment& environment) {
    if (wanted_.python.empty()) {
      auto python = launch::choose_python("", environment, record_.host);
      if (!python) return std::unexpected(python.error());
      wanted_.python = python->path;
    }
    record_.base_python = wanted_.python;
    return {};
  }

  Result<void> take(const setup::Step& step) {
    say(shell_quote(step.argv));
    Environment environment = environment_;
    for (const auto& [name, value] : step.variables) environment.set(name, value);
    std::deque<std::string> kept;
    const auto code = watch(step.argv, environment, [&](std::string_view line) {
      say_block(fmt::format("{}\n", line));
      kept.emplace_back(line);
      if (kept.size() > most_lines_kept) kept.pop_front();
    });
    const std::string what = fmt::format("{} on host {}", step.what, record_.host);
    if (!code) return fail(what, code.error().line());
    if (*code == 0) return {};
    const std::string said = setup::pips_words({kept.begin(), kept.end()});
    return fail(what, said.empty() ? fmt::format("it ended with exit code {}", *code) : said,
                "what it printed stands above");
  }

  Result<void> test_imports() {
    const auto done = finish(setup::import_command(wanted_), environment_, import_limit);
    const std::string what = fmt::format("importing in {} on host {}", wanted_.venv, record_.host);
    if (!done) return fail(what, done.error().why);
    if (done->code != 0)
      return fail(what, last_line(*done),
                  "leave it out of --import, or load what it needs by --modules");
    const auto imported = setup::parse_imports(done->out);
    if (!imported) return fail(what, imported.error().line());
    record_.python = imported->python;
    record_.imports = imported->versions;
    if (imported->failures.empty()) return {};
    std::vector<std::string> failures;
    for (const auto& [name, why] : imported->failures) failures.push_back(name + ": " + why);
    return fail(what, join(failures, "; "),
                "load what it needs by --modules, or name what is to be tested by --import");
  }

  // Python ended in the middle: which module it was at, and by what.
  static std::string last_line(const Finished& done) {
    const std::string_view text = trim(done.err);
    const std::string last(text.substr(text.rfind('\n') + 1));
    return printable(fmt::format("it ended with exit code {}; last it said: {}", done.code, last));
  }

  const SetupOptions& options_;
  setup::Wanted wanted_;
  Environment environment_;
  Record record_;
  Fd lock_;
};

}  // namespace

bool is_alive(const std::string& job, const Environment& environment) {
  const auto id = scheduler::parse_job_id(job);
  const auto queue = scheduler::find_queue(environment);
  if (!id || !queue) return false;
  const auto found = (*queue)->find(*id);
  if (!found) return false;
  return std::ranges::any_of(
      *found, [](const scheduler::Job& one) { return !scheduler::has_ended(one.state); });
}

Result<void> check_free(const std::string& folder, bool force, const std::string& own_job,
                        const Environment& environment) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return {};
  if (!fs::is_directory(folder, error)) return taken(folder, "it is no folder", "name another");
  const auto record = setup::read_record(folder);
  if (!record) {
    if (force) return {};
    return std::unexpected(record.error());
  }
  if (!*record) {
    if (fs::is_empty(folder, error)) return {};
    return taken(folder, "it is there already, and toprun setup has not built it",
                 "name another, or remove it");
  }
  const Record& known = **record;
  if (known.state == State::complete) {
    if (force) return {};
    return taken(folder,
                 fmt::format("it is there already, built on {} at {}", known.host, known.ended),
                 "--force builds it anew");
  }
  const bool is_others = !known.job.empty() && known.job != own_job;
  if (!is_others || known.state == State::failed || !is_alive(known.job, environment)) return {};
  return taken(folder, fmt::format("job {} is about to build it", known.job),
               fmt::format("toprun status {0}; toprun cancel {0} ends it", known.job));
}

Result<void> note_submission(const std::string& folder, const std::string& job) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("cannot make " + folder, error.message());
  const auto now = setup::read_record(folder);
  if (now && *now && (*now)->job == job) return {};  // it has begun meanwhile
  Record record;
  record.state = State::submitted;
  record.job = job;
  return setup::write_record(folder, record);
}

int build_here(const SetupOptions& options, const Environment& environment) {
  Build build(options, environment);
  if (const auto done = build.run(); !done) return give_up(done.error());
  std::vector<std::string> versions;
  for (const auto& [name, version] : build.record().imports) {
    versions.push_back(version.empty() ? name : fmt::format("{} {}", name, version));
  }
  say(fmt::format("built {}: Python {}{}", options.wanted.venv, build.record().python,
                  versions.empty() ? "" : ", imported " + join(versions, ", ")));
  return 0;
}

}  // namespace toprun::cli
