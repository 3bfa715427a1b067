#include "cli/jobs/live_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <ranges>

#include "base/os/fd.h"
#include "base/os/pool.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "cli/jobs/job_options.h"
#include "machine/meter/usage.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;
using engines::Job;
using engines::JobState;

constexpr std::size_t most_node_files = 4'096;  // whose times are compared
constexpr std::size_t end_bytes = 16u << 10;    // of a node's file
constexpr std::string_view own_mark = "toprun: ";
constexpr std::string_view own_indent = "  ";
// How toprun's own line begins after which a new attempt follows (run/conductor/restarts.cc).
constexpr std::array<std::string_view, 3> restart_marks = {
    "toprun: restart ", "toprun: starting again", "toprun: the next attempt starts "};

// Work for several threads, whose results come one by one. The caller waits for them until a
// deadline; a thread that hangs in the kernel is left behind with what it holds.
class Looks {
 public:
  void add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    ++open_;
    changed_.notify_one();
  }
  void keep(const std::string& id, LiveStatus glance) {
    const std::lock_guard lock(mutex_);
    found_[id] = std::move(glance);
  }
  // A thread's life.
  void work() {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !work_.empty() || open_ == 0; });
        if (work_.empty()) return;
        next = std::move(work_.front());
        work_.pop_front();
      }
      next();
      const std::lock_guard lock(mutex_);
      if (--open_ == 0) changed_.notify_all();
    }
  }
  std::map<std::string, LiveStatus> found_within(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return open_ == 0; });
    return found_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::size_t open_ = 0;  // not done yet
  std::map<std::string, LiveStatus> found_;
};

JobFiles usual_files(const Job& job) {
  const fs::path log_dir = fs::path(job.folder) / default_log_dir;
  JobFiles files;
  files.folder = (log_dir / job.id).string();
  files.own.push_back((log_dir / fmt::format("{}.{}.out", job.name, job.id)).string());
  return files;
}

LiveStatus glance_at(KnownJob known, JobFiles files) {
  known = with_files(std::move(known), std::move(files));
  return {summary_of(known).words,
          known.job->state == JobState::running ? last_line_in(known) : Outside()};
}

// Of jobs with one working directory: most have their files where submit puts them.
void look_below(Looks& looks, const std::string& folder, std::vector<KnownJob> jobs) {
  std::optional<std::vector<FoundFiles>> all;
  for (KnownJob& known : jobs) {
    JobFiles files = usual_files(*known.job);
    if (!is_there(files.folder)) {
      if (!all) all = all_files({folder});
      const auto found = std::ranges::find(*all, known.id, &FoundFiles::id);
      if (found != all->end()) files = found->files;
    }
    looks.add([&looks, known = std::move(known), files = std::move(files)] {
      looks.keep(known.id, glance_at(known, files));
    });
  }
}

// When the current attempt began, if lines of an earlier one may stand in the same files; unset:
// they cannot. WallTime::max(): no attempt runs now, and the next one has not begun.
std::optional<WallTime> began_again(const KnownJob& known) {
  if (!known.report || known.report->run.attempts.empty()) return std::nullopt;
  const model::RunRecord& run = known.report->run;
  const model::AttemptRecord& last = run.attempts.back();
  if (!run.running_at || (last.attempt == 0 && run.earlier.empty())) return std::nullopt;
  return last.ended ? WallTime::max() : model::if_known(last.started);
}

bool is_older(const LogFile& file, WallTime than) {
  struct stat status {};
  if (::lstat(file.path.c_str(), &status) != 0) return false;
  return WallTime(std::chrono::seconds(status.st_mtim.tv_sec) +
                  std::chrono::nanoseconds(status.st_mtim.tv_nsec)) < than;
}

std::string newest_of(const std::vector<LogFile>& files) {
  std::string newest;
  timespec latest{};
  for (const LogFile& file : files | std::views::take(most_node_files)) {
    struct stat status {};
    if (::lstat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (status.st_size == 0) continue;
    const timespec& time = status.st_mtim;
    if (std::pair(time.tv_sec, time.tv_nsec) <= std::pair(latest.tv_sec, latest.tv_nsec)) continue;
    latest = time;
    newest = file.path;
  }
  return newest;
}

// A complaint of the shell that runs the batch script, as "…/slurm_script: line 14: /opt/toprun: No
// such file or directory". Empty: another line.
std::string_view line_of_script(std::string_view line) {
  constexpr std::string_view script = "/slurm_script: line ";
  const std::size_t at = line.find(script);
  const std::size_t number = at == line.npos ? at : line.find(": ", at + script.size());
  return number == line.npos ? std::string_view() : line.substr(number + 2);
}

std::string end_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(end_bytes, '\0');
  const auto from = std::max<off_t>(0, status.st_size - static_cast<off_t>(text.size()));
  const ssize_t read = ::pread(file.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  return text;
}

// What ranks have printed since the last restart, without toprun's own lines and the indented ones
// below them.
struct Parted {
  std::string theirs;
  bool ends_with_ours = false;
};

Parted parted(std::string_view text) {
  Parted out;
  bool ours = false;
  for (const std::string_view line : split(text, '\n')) {
    ours = line.starts_with(own_mark) || (ours && line.starts_with(own_indent));
    if (!ours) out.theirs += std::string(line) + '\n';
    const auto begins = [&](std::string_view mark) { return line.starts_with(mark); };
    if (std::ranges::any_of(restart_marks, begins)) out.theirs.clear();
    if (!trim(line).empty()) out.ends_with_ours = ours;
  }
  return out;
}

// Whether a rank has printed it: other lines may be of the job's script.
bool is_last_of_a_node(const Outside& line, const std::vector<LogFile>& nodes) {
  return std::ranges::any_of(nodes | std::views::take(most_node_files), [&](const LogFile& file) {
    return last_line_of(end_of(file.path)).raw() == line.raw();
  });
}

// Slurm's lines about the end of a step: "srun: error: n0: task 0: Exited with …". Other lines of
// slurmstepd may say more than toprun, such as that memory ran out.
bool is_about_a_step(std::string_view line) {
  return line.starts_with("srun: ") || line.starts_with("slurmstepd: error: *** STEP ");
}

// Of lines that HOST.out has.
Outside line_of_nodes(const KnownJob& known, const std::vector<LogFile>& nodes) {
  const std::string newest = newest_of(nodes);
  if (newest.empty()) return {};
  const std::string end = end_of(newest);
  Outside line = last_line_of(end);
  if (!parted(end).ends_with_ours) return line;
  // The file's time is of toprun's own message, as of a hang. The engine's file has the lines of
  // all nodes in the order in which they came.
  for (const std::string& path : known.files->own) {
    Outside last = last_line_of(end_of(path));
    if (last.empty() || last.raw() == line.raw()) continue;
    if (is_last_of_a_node(last, nodes)) return last;
  }
  return line;
}

}  // namespace

bool is_looked_at(const Job& job, std::uint32_t uid) {
  const bool has_begun = job.state != JobState::pending || job.restarts > 0;
  return job.uid == uid && has_begun && !job.folder.empty();
}

Outside last_line_of(std::string_view end_of_file) {
  return last_state(parted(end_of_file).theirs, meter::longest_last_line);
}

Outside last_line_in(const KnownJob& known) {
  std::vector<LogFile> nodes = node_files(*known.files);
  const auto since = began_again(known);
  const auto is_of_earlier = [&](const LogFile& file) { return since && is_older(file, *since); };
  std::erase_if(nodes, is_of_earlier);
  Outside line = line_of_nodes(known, nodes);
  if (!line.empty() && !has_files_per_rank_alone(*known.files)) return line;
  std::vector<LogFile> ranks = rank_files(*known.files, known.report ? &*known.report : nullptr);
  std::erase_if(ranks, is_of_earlier);
  const std::string newest = newest_of(ranks);
  // With --redirects 1, stderr is in HOST.out.
  nodes.push_back({newest, {}});
  if (!line.empty() && newest_of(nodes) != newest) return line;
  const Outside own = last_line_of(end_of(newest));
  return own.empty() ? line : own;
}

Outside own_line_at_end(std::string_view end_of_file) {
  std::string_view last, last_of_all;
  for (const std::string_view line : split(end_of_file, '\n')) {
    if (trim(line).empty()) continue;
    last_of_all = line;
    if (!is_about_a_step(line)) last = line;
  }
  if (last.starts_with(own_mark)) return std::string(trim(last.substr(own_mark.size())));
  if (const auto line = line_of_script(last_of_all); !line.empty()) {
    return fmt::format("the job's script: {}", trim(line));
  }
  return last_of_all.starts_with("srun: error: ") ? std::string(trim(last_of_all)) : std::string();
}

Outside own_line_at_end(const JobFiles& files) {
  for (const std::string& path : files.own | std::views::reverse) {  // stderr first
    if (Outside line = own_line_at_end(end_of(path)); !line.empty()) return line;
  }
  return {};
}

Outside own_line_of_node(const JobFiles& files, std::string_view node) {
  for (const LogFile& file : node_files(files)) {
    if (file.label == node) return own_line_at_end(end_of(file.path));
  }
  return {};
}

std::string text_of(const LiveStatus& glance) {
  const bool just_runs = glance.words == "running";
  if (glance.line.empty() || !glance.words.starts_with("running")) return glance.words;
  return just_runs ? glance.line.shown() : fmt::format("{}: {}", glance.words, glance.line);
}

std::map<std::string, LiveStatus> live_statuses(const engines::Queue& queue,
                                                const std::vector<Job>& jobs, std::uint32_t uid) {
  std::map<std::string, std::vector<KnownJob>> by_folder;
  std::size_t count = 0;
  for (const Job& job : jobs) {
    if (!is_looked_at(job, uid)) continue;
    if (++count > most_looked_at) break;
    by_folder[job.folder].push_back(without_files(queue, job));
  }
  const auto looks = std::make_shared<Looks>();
  for (auto& [folder, of_folder] : by_folder) {
    looks->add([&looks = *looks, folder, of_folder = std::move(of_folder)] {
      look_below(looks, folder, of_folder);
    });
  }
  for (std::size_t i = 0; i < std::min(looks_at_once, count); ++i) {
    if (auto thread = quiet_thread([looks] { looks->work(); })) thread->detach();
  }
  return looks->found_within(look_limit);
}

}  // namespace toprun::jobs
