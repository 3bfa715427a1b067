#include "cli/jobs/job_output.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/mounts.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;
using engines::Job;
using std::chrono::steady_clock;

// A line of the engine's file waits so long for the same one of a host, which a network file system
// may show later.
constexpr std::chrono::seconds twin_limit{3};

constexpr std::string_view cannot_show = "the output cannot be shown";

// A folder of toprun's is there before the job prints; that of an array's task only from its start.
bool is_ours(const JobFiles& files, const Job& job) {
  const fs::path folder = files.folder;
  return is_there(folder) || (!job.array.empty() && is_there(folder.parent_path() / job.array));
}

// A node of the allocation may print later, and so may one that the engine does not tell us of.
bool may_come(const Job& job, const LogChoice& choice, const Error& missing) {
  if (missing->exit_code != exit_usage || job.state != engines::JobState::running) return true;
  if (choice.node.empty()) return false;
  const auto nodes = hosts::expand_hostlist(job.node_list);
  return !nodes || nodes->empty() || std::ranges::find(*nodes, choice.node) != nodes->end();
}

}  // namespace

std::string JobOutput::prefix_of(const std::string& id, const LogFile& file, bool several_nodes,
                                 bool several_jobs) const {
  std::string label = several_jobs ? id : std::string();
  // A choice of one rank or node, or a job of one, needs no name in front of each line.
  if (!file.label.empty() && choice_.takes_all() && several_nodes) {
    label += (label.empty() ? "" : " ") + file.label;
  }
  return label.empty() ? label : label + ": ";
}

void JobOutput::add(const std::string& id, const LogFile& file, Lines lines, bool several_nodes,
                    bool several_jobs) {
  if (tails_.contains(file.path)) return;
  const std::string prefix = prefix_of(id, file, several_nodes, several_jobs);
  LogTail::LineFilter filter;
  if (lines == Lines::each_once) {
    Remainder& remainder = remainders_[id];
    filter = file.label.empty() ? remainder.engine_lines(prefix) : remainder.host_lines();
  }
  tails_.try_emplace(file.path, file.path, prefix, lines != Lines::bytes, std::move(filter));
  order_.push_back(file.path);
}

void JobOutput::look_for_files(const JobsById& jobs, FolderWatch& watch) {
  trouble_.reset();
  const bool several_jobs = jobs.size() + forgotten_.size() > 1;
  look_for_forgotten(several_jobs);
  std::size_t refused = 0;
  for (const auto& [id, job] : jobs) {
    if (job.state == engines::JobState::pending && job.restarts == 0) continue;
    const auto files = files_of(queue_, job);
    if (!files) continue;
    watch.add(fs::path(files->own[0]).parent_path());
    watch.add(files->folder);
    auto found = log_files(*files, choice_);
    if (!found) {
      if (!may_come(job, choice_, found.error())) ++refused;
      trouble_ = std::move(found.error());
      continue;
    }
    Lines lines = found->size() > 1 || several_jobs ? Lines::whole : Lines::bytes;
    if (choice_.takes_all() && is_ours(*files, job)) lines = Lines::each_once;
    // A run before a requeue may have been on more nodes.
    const auto of_hosts =
        std::ranges::count_if(*found, [](const LogFile& file) { return !file.label.empty(); });
    const bool several_nodes = job.nodes > 1 || of_hosts > 1;
    for (const LogFile& file : *found) add(id, file, lines, several_nodes, several_jobs);
  }
  if (refused > 0 && refused == jobs.size()) refusal_ = trouble_;
}

void JobOutput::look_for_forgotten(bool several_jobs) {
  for (const FoundFiles& task : forgotten_) {
    const auto found = log_files(task.files, choice_);
    if (!found) continue;
    const bool each_once = choice_.takes_all() && is_there(task.files.folder);
    const bool several_nodes = has_several_nodes(task.files);
    for (const LogFile& file : *found) {
      add(task.id, file, each_once ? Lines::each_once : Lines::whole, several_nodes, several_jobs);
    }
  }
}

Result<bool> JobOutput::show(const JobsById& jobs, FolderWatch& watch) {
  look_for_files(jobs, watch);
  const bool is_first_look = !first_look_ended_;
  bool news = false;
  std::string text;
  for (const std::string& path : order_) {
    LogTail& tail = tails_.at(path);
    LastLines last(is_first_look ? choice_.last_lines : std::nullopt);
    while (tail.read_new(text)) {
      news = true;
      if (print_bytes(last.add(std::move(text))) != 0) return fail(cannot_show);
    }
    if (print_bytes(last.take()) != 0) return fail(cannot_show);
  }
  if (is_first_look) first_look_ended_ = steady_clock::now();
  TRY(show_remainders(steady_clock::now() - twin_limit));
  return news;
}

Result<void> JobOutput::show_rests() {
  for (const std::string& path : order_) {
    if (print_bytes(tails_.at(path).rest()) != 0) return fail(cannot_show);
  }
  return show_remainders(SteadyTime::max());
}

Result<void> JobOutput::show_remainders(SteadyTime until) {
  for (auto& [id, remainder] : remainders_) {
    LastLines last(old_remainders_shown_ ? std::nullopt : choice_.last_lines);
    if (print_bytes(last.add(remainder.take(until))) != 0) return fail(cannot_show);
    if (print_bytes(last.take()) != 0) return fail(cannot_show);
  }
  if (until >= first_look_ended_) old_remainders_shown_ = true;
  return {};
}

bool JobOutput::is_local() const {
  const auto text = read_file("/proc/self/mountinfo");
  if (!text || order_.empty()) return false;
  const auto mounts = parse_mounts(*text);
  return std::ranges::all_of(order_, [&](const std::string& path) {
    std::error_code error;
    const Mount* const mount = mount_of(mounts, fs::canonical(path, error).string());
    return mount != nullptr && is_shared(mount->type) == false;
  });
}

FolderWatch::FolderWatch() : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void FolderWatch::add(const std::string& folder) {
  if (!fd_ || watched_.contains(folder)) return;
  constexpr std::uint32_t events = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;
  if (::inotify_add_watch(fd_.get(), folder.c_str(), events) >= 0) watched_.insert(folder);
}

void FolderWatch::forget_news() {
  std::array<char, 4096> events;
  while (::read(fd_.get(), events.data(), events.size()) > 0) {
  }
}

}  // namespace toprun::jobs
