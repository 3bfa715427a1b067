#include "node/prepare/prefetch.h"

#include <fmt/format.h>

#include <thread>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "node/prepare/prefetch/prefetch_record.h"
#include "node/worker/environment.h"

namespace toprun::prepare {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Requests to a file server under way at once.
constexpr std::size_t most_threads = 16;
// Ranks that do not come to this node's store have imported by then.
constexpr std::chrono::seconds longest_import{30};
constexpr std::chrono::minutes probe_limit{5};
// After these a file system counts as one that hangs, and what it holds is left out.
constexpr std::chrono::minutes finding_limit{1};
constexpr std::chrono::minutes reading_limit{10};
constexpr std::chrono::minutes recording_limit = probe_limit + finding_limit;

std::optional<std::string> why_never_ahead(const plan::Job& job) {
  if (job.options.program == plan::Program::executable) {
    return "--no-python starts a program, and toprun knows only the files of Python imports";
  }
  if (job.in_container()) return "its ranks run in a container, whose files are out of reach";
  if (!prefetch::folder_of(job.environment)) return "neither HOME nor XDG_CACHE_HOME is set";
  return std::nullopt;
}

std::string key_of(const plan::Job& job) {
  return prefetch::key_of(job.program.front(), job.environment, *job.options.prefetch);
}

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

// Another node may have made it meanwhile. False: its process was killed, as all are that are left
// when the ranks have ended.
Result<bool> make_record(const plan::Job& job) {
  const std::filesystem::path folder = *prefetch::folder_of(job.environment);
  const std::string key = key_of(job);
  const auto kept = TRY(prefetch::find_kept(folder, key));
  if (kept) return true;
  std::vector<std::string> command{job.program.front(), "-"};
  command.insert(command.end(), job.options.prefetch->begin(), job.options.prefetch->end());
  const auto reported =
      TRY(process::run(command, worker::common_environment(job.environment, job.nproc), probe_limit,
                       prefetch::probe));
  if (reported.code > 128) return false;
  if (reported.code != 0) return fail("its Python", last_line(reported.err));
  TRY(prefetch::parse_record(reported.out));
  TRY(prefetch::keep(folder, key, reported.out));
  return true;
}

}  // namespace

struct Prefetch::Found {
  std::optional<Error> error;
  std::shared_ptr<prefetch::Reading> reading = {};  // null: there is no record
  bool is_cached = false;
};

Prefetch::Prefetch(boost::asio::io_context& io, std::shared_ptr<const plan::Job> job)
    : job_(std::move(job)),
      pool_(io, {.threads = most_threads, .waiting = 2 * most_threads}),
      timer_(io) {
  if (const auto why = why_never_ahead(*job_)) {
    state_ = State::idle;
    tell("is left out: " + *why);
    return;
  }
  // Ranks in place: one of the node's agents reads for all.
  if (job_->place.stance == engines::Stance::in_place && job_->place.local_rank.value_or(0) != 0) {
    state_ = State::idle;
    return;
  }
  pool_.run<Found>(
      finding_limit,
      [job = job_] {
        auto record = prefetch::find_kept(*prefetch::folder_of(job->environment), key_of(*job));
        if (!record) return Found{record.error()};
        if (!*record) return Found{};
        auto reading = std::make_shared<prefetch::Reading>(**record);
        const bool is_cached = reading->is_cached();
        return Found{std::nullopt, std::move(reading), is_cached};
      },
      [this](const Pool::Answer<Found>& found) {
        if (found) return heard(*found);
        const std::string why = Pool::words_for(found.error(), finding_limit);
        heard({Error{"its record", why, "see which file system hangs"}});
      });
}

Prefetch::~Prefetch() {
  if (reading_) reading_->stop();
}

void Prefetch::heard(const Found& found) {
  state_ = State::idle;
  if (found.error) return tell("is left out: " + found.error->line());
  const bool verbose = job_->options.verbose > 0;
  if (found.is_cached) {
    if (verbose) tell("has nothing to read: all is in the page cache");
  } else if (found.reading) {
    read(found.reading);
  } else {
    if (verbose)
      tell("has no record of this environment yet: toprun writes it after the ranks' imports");
    state_ = State::waiting;
    if (may_record_) record();
  }
}

// Where memory gives no thread, a pool works on the loop's own, which must not wait.
void Prefetch::read(std::shared_ptr<prefetch::Reading> reading) {
  reading_ = std::move(reading);
  state_ = State::reading;
  began_ = steady_clock::now();
  threads_ = most_threads;
  for (std::size_t i = 0; i < most_threads; ++i) {
    pool_.run<bool>(
        reading_limit,
        [reading = reading_, i, loop = std::this_thread::get_id()] {
          if (std::this_thread::get_id() == loop) return false;
          reading->work(i);
          return true;
        },
        [this](const Pool::Answer<bool>&) { thread_ended(); });
  }
}

void Prefetch::thread_ended() {
  if (--threads_ > 0) return;
  state_ = State::idle;
  const prefetch::Reading::Done done = reading_->done();
  time_ = duration_cast<milliseconds>(steady_clock::now() - began_);
  if (job_->options.verbose > 0) {
    tell(fmt::format("read {:.0f} MiB of {} in {:.1f} s",
                     static_cast<double>(done.bytes) / (1u << 20), counted(done.files, "file"),
                     static_cast<double>(time_->count()) / 1000));
  }
  if (on_read) on_read();
}

void Prefetch::ranks_have_started() {
  if (may_record_) return record();  // its process ended with the attempt before this one
  timer_.expires_after(longest_import);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    may_record_ = true;
    record();
  });
}

void Prefetch::ranks_have_imported() {
  may_record_ = true;
  timer_.cancel();
  if (reading_) reading_->stop();
  record();
}

void Prefetch::record() {
  if (state_ != State::waiting) return;
  state_ = State::recording;
  pool_.run<Result<bool>>(
      recording_limit, [job = job_] { return make_record(*job); },
      [this](const Pool::Answer<Result<bool>>& made) {
        if (made) return recorded(*made);
        recorded(fail("its record", Pool::words_for(made.error(), recording_limit)));
      });
}

void Prefetch::recorded(const Result<bool>& made) {
  state_ = made && !*made ? State::waiting : State::idle;
  if (!made) tell("cannot record what imports read: " + made.error().line());
}

void Prefetch::tell(const std::string& what) const {
  say(fmt::format("--prefetch on {} {}", job_->place.node_name, what));
}

}  // namespace toprun::prepare
