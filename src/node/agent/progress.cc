#include "node/agent/progress.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "base/process/child.h"
#include "node/agent/evidence/nccl_ras.h"

namespace toprun::agent {
namespace {

using std::chrono::nanoseconds;

// Shares of the time between two looks for which one CPU was used. They are small, because ranks
// may share a CPU with others.
constexpr double busy = 0.1;  // the main thread computes; one that polls takes less
constexpr double busy_children = 0.1;
constexpr double busy_helpers = 0.02;  // the other threads: data comes or goes
// Of less time, 2 % are what a thread that idles needs now and then.
constexpr std::chrono::seconds least_time_of_helpers{1};
// Pages: a rank that works on new data takes some, one that turns in a circle none.
constexpr std::uint64_t new_pages = 64;

double share(nanoseconds before, nanoseconds now, nanoseconds passed) {
  if (now <= before || passed.count() <= 0) return 0;
  return std::chrono::duration<double>(now - before) / std::chrono::duration<double>(passed);
}

enum class Lines { ignored, counted };
std::uint64_t path_of(const std::vector<stacks::Frame>& frames, Lines lines) {
  std::size_t hash = frames.size();
  for (const stacks::Frame& frame : frames) {
    hash = hash * 31 + std::hash<std::string>()(frame.function);
    hash = hash * 31 + std::hash<std::string>()(frame.file);
    if (lines == Lines::counted) hash = hash * 31 + static_cast<std::size_t>(frame.line);
  }
  return hash;
}

// Looks several times at a thread that runs Python, each time after it has run for a moment: work
// comes through many lines, a circle through those of its loop. nullopt: the thread got too little
// of a CPU to tell.
std::optional<bool> is_in_many_places(stacks::Reader& reader, pid_t pid) {
  constexpr int looks = 10;
  constexpr int most_tries = 50;
  constexpr std::size_t most_lines_of_a_circle = 5;
  constexpr std::chrono::milliseconds between{4};
  constexpr std::chrono::milliseconds a_moment{1};
  std::set<std::uint64_t> places;
  std::optional<nanoseconds> ran;
  int seen = 0;
  for (int i = 0; i < most_tries && seen < looks; ++i) {
    if (i > 0) std::this_thread::sleep_for(between);
    const auto pulse = stacks::pulse(pid);
    if (pulse && ran && pulse->cpu - *ran < a_moment) continue;
    if (pulse) ran = pulse->cpu;
    ++seen;
    if (const auto frames = reader.main_stack()) places.insert(path_of(*frames, Lines::counted));
    if (places.size() > most_lines_of_a_circle) return true;
  }
  return seen == looks ? std::optional(false) : std::nullopt;
}

hang::Standing standing_of(const RunningRank& rank, const Environment& environment) {
  const pid_t pid = process_of(rank);
  if (pid != 0) return hang::standing_of(stacks::inspect(pid, environment));
  hang::Standing unseen;
  unseen.no_frames = "its process cannot be seen from outside of its container";
  return unseen;
}

}  // namespace

pid_t process_of(const RunningRank& rank) {
  return rank.marks.empty() ? rank.pid : stacks::outer_id(rank.pid, rank.marks);
}

Progress::Progress(std::vector<RunningRank> ranks) {
  for (RunningRank& rank : ranks) ranks_.emplace_back().rank = std::move(rank);
}

std::optional<std::vector<hang::RankSample>> Progress::look() {
  const std::unique_lock only(looking_, std::try_to_lock);
  if (!only) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  std::vector<hang::RankSample> samples;
  samples.reserve(ranks_.size());
  for (Watched& watched : ranks_) samples.push_back(sample_of(watched, now - last_));
  last_ = now;
  return samples;
}

hang::RankSample Progress::sample_of(Watched& watched, nanoseconds passed) {
  if (!watched.rank.marks.empty()) {
    watched.rank.pid = process_of(watched.rank);
    if (watched.rank.pid != 0) watched.rank.marks.clear();
  }
  if (has_not_run(watched)) return watched.seen;
  const auto usage = stacks::usage(watched.rank.pid);
  hang::RankSample sample;
  if (!usage || usage->state == 'Z' || usage->state == 'X') {
    watched.pulse.reset();
    sample.lives = false;
    return sample;
  }
  const stacks::Usage before = watched.last.value_or(*usage);
  watched.last = usage;
  sample.done = usage->main_bytes;
  add_stack(watched, sample);
  sample.computes = (!sample.communicates && main_computes(watched, before, *usage, passed)) ||
                    share(before.child_cpu, usage->child_cpu, passed) >= busy_children ||
                    helpers_compute(watched, sample, before, *usage, passed);
  watched.seen = sample;
  watched.seen.computes = false;
  return sample;
}

// Then it stands where it stood, and nothing else need be read. Children may run by themselves.
bool Progress::has_not_run(Watched& watched) {
  const auto pulse = stacks::pulse(watched.rank.pid);
  const bool is_quiet = pulse && pulse == watched.pulse && pulse->state != 'R' && watched.last &&
                        watched.last->processes == 1;
  watched.pulse = pulse;
  return is_quiet;
}

void Progress::add_stack(Watched& watched, hang::RankSample& sample) {
  if (!watched.reader) {
    if (auto reader = stacks::Reader::open(watched.rank.pid)) watched.reader = std::move(*reader);
  }
  const auto frames = watched.reader ? watched.reader->main_stack() : std::vector<stacks::Frame>();
  if (!frames) {
    sample.path = watched.seen.path;  // what could not be read is not another place
    return;
  }
  sample.path = path_of(*frames, Lines::ignored);
  sample.communicates = hang::is_communication(*frames);
}

// What computes in C lets Python's lock go, sooner or later; `while True: pass` never does.
bool Progress::main_computes(Watched& watched, const stacks::Usage& before,
                             const stacks::Usage& now, nanoseconds passed) {
  if (now.main_faults - before.main_faults >= new_pages) return true;
  if (now.state != 'R' && share(before.main_cpu, now.main_cpu, passed) < busy) return false;
  if (!watched.reader || watched.reader->is_locked() != true) return true;
  if (const auto works = is_in_many_places(*watched.reader, watched.rank.pid)) {
    watched.works = *works;
  }
  return watched.works;
}

// NCCL's threads are busy also while they wait.
bool Progress::helpers_compute(const Watched& watched, const hang::RankSample& sample,
                               const stacks::Usage& before, const stacks::Usage& now,
                               nanoseconds passed) {
  const nanoseconds over = std::max<nanoseconds>(passed, least_time_of_helpers);
  const double helpers = share(before.cpu - before.main_cpu, now.cpu - now.main_cpu, over);
  if (helpers < busy_helpers) return false;
  return !(sample.communicates && stacks::has_gpu(watched.rank.pid));
}

std::vector<hang::Group> places_of(const std::vector<RunningRank>& ranks,
                                   const Environment& environment) {
  hang::Groups groups;
  for (const RunningRank& one : ranks) {
    groups.add(standing_of(one, environment), std::array{one.rank});
  }
  return std::move(groups).take();
}

std::function<RankSight::RankSamples()> RankSight::watch(std::vector<RunningRank> ranks) const {
  return [progress = std::make_shared<Progress>(std::move(ranks))] { return progress->look(); };
}

std::vector<hang::Group> RankSight::places_of(const std::vector<RunningRank>& ranks,
                                              const Environment& environment) const {
  return agent::places_of(ranks, environment);
}

std::vector<evidence::RecorderFiles> RankSight::listening(
    const std::vector<evidence::RecorderFiles>& files) const {
  return evidence::listening(files);
}

recorder::Summary RankSight::ask_recorders(const std::vector<evidence::RecorderFiles>& files,
                                           std::chrono::milliseconds limit) const {
  return evidence::ask_recorders(files, limit);
}

std::shared_ptr<Fd> RankSight::connect_to_nccl(const Environment& environment) const {
  return evidence::connect_to_nccl(environment);
}

std::vector<ras::Finding> RankSight::reported_by_nccl(const Fd& connection,
                                                      const std::vector<pid_t>& pids,
                                                      std::chrono::milliseconds limit) const {
  return evidence::reported_by_nccl(connection, pids, limit);
}

void RankSight::abort_with_traceback(pid_t pid) const {
  rlimit core{};
  if (pid <= 0 || ::prlimit(pid, RLIMIT_CORE, nullptr, &core) != 0) return;
  if (core.rlim_cur == 0 && core.rlim_max >= 1) {
    core.rlim_cur = 1;
    ::prlimit(pid, RLIMIT_CORE, &core, nullptr);
  }
  process::signal_process(pid, SIGABRT);
}

}  // namespace toprun::agent
