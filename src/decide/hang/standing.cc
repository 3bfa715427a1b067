#include "decide/hang/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <utility>

#include "machine/stacks/frame.h"

namespace toprun::hang {
namespace {

using stacks::Frame;
using stacks::Process;
using stacks::Thread;

struct DoingNames {
  Doing doing;
  std::string_view name;                // in JSON and on the wire
  std::string_view of_one, of_several;  // for people
};
constexpr std::array<DoingNames, 7> doings = {{
    {Doing::communicates, "communicates", "waits", "wait"},
    {Doing::waits, "waits", "sleeps", "sleep"},
    {Doing::locked, "locked", "waits for a lock or another thread",
     "wait for a lock or another thread"},
    {Doing::computes, "computes", "runs", "run"},
    {Doing::stopped, "stopped", "is stopped", "are stopped"},
    {Doing::uninterruptible, "uninterruptible", "hangs in the kernel", "hang in the kernel"},
    {Doing::ended, "ended", "has ended", "have ended"},
}};

const DoingNames& names_of(Doing doing) {
  return *std::ranges::find(doings, doing, &DoingNames::doing);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The code of PyTorch's communication, and what calls it on the way out of C.
bool is_of_communication(const Frame& frame) {
  if (contains(frame.file, "/torch/distributed/")) return true;
  if (contains(frame.file, "/torch/nn/parallel/distributed.py")) return true;
  if (contains(frame.file, "/torch/autograd/")) return contains(frame.function, "backward");
  if (contains(frame.file, "/torch/cuda/")) return frame.function == "synchronize";
  return contains(frame.file, "/horovod/");
}

// Frames between a call into C and the function that a user knows.
bool is_wrapper(const Frame& frame) {
  return frame.function == "wrapper" || contains(frame.file, "/torch/_ops.py") ||
         contains(frame.file, "/torch/utils/_contextlib.py");
}

bool is_of_library(const Frame& frame) {
  return stacks::is_of_library(frame.file);
}

// The kernel's functions for it: futex_wait_queue, futex_do_wait, by version.
bool is_in_futex(const Thread& thread) {
  return thread.wchan.starts_with("futex_");
}

Doing doing_of(const Thread& thread) {
  switch (thread.state) {
    case 'T':
    case 't':
      return Doing::stopped;
    case 'D':
      return Doing::uninterruptible;
    case 'Z':
    case 'X':
      return Doing::ended;
    default:
      break;
  }
  if (is_communication(thread.python)) return Doing::communicates;
  if (thread.state == 'R') return Doing::computes;
  return is_in_futex(thread) ? Doing::locked : Doing::waits;
}

std::string shortened(const std::string& name) {
  return name.size() <= longest_name ? name : name.substr(0, longest_name);
}

// Of Python's own machinery for imports, which its tracebacks leave out too: five for each import.
bool is_of_imports(const Frame& frame) {
  return frame.file.starts_with("<frozen importlib.");
}

std::vector<Frame> kept(const std::vector<Frame>& frames) {
  std::vector<Frame> few;
  for (const Frame& frame : frames) {
    if (few.size() == most_frames) break;
    if (is_of_imports(frame)) continue;
    few.push_back({shortened(frame.function), shortened(frame.file), frame.line});
  }
  return few;
}

// A child that only waits for work is of no interest: those of a data loader, of multiprocessing.
bool waits_for_work(const Child& child) {
  if (child.doing != Doing::waits && child.doing != Doing::locked) return false;
  return std::ranges::any_of(child.frames, [](const Frame& frame) {
    return contains(frame.file, "/multiprocessing/queues.py") ||
           contains(frame.file, "/multiprocessing/resource_tracker.py") ||
           contains(frame.file, "/multiprocessing/forkserver.py");
  });
}

std::vector<Child> children_of(const Process& process) {
  std::vector<Child> all;
  for (const Process& below : process.children) {
    if (below.threads.empty()) continue;
    Child child{shortened(below.command), doing_of(below.threads.front()),
                kept(below.threads.front().python)};
    if (child.doing == Doing::ended || waits_for_work(child)) continue;
    if (std::ranges::find(all, child) == all.end()) all.push_back(std::move(child));
  }
  if (all.size() > most_children) all.resize(most_children);
  return all;
}

// A thread is known by the user's code in it; threads of libraries, which mostly wait for work,
// are named where there is no other.
std::vector<OtherThread> threads_beside_main(const Process& process) {
  std::vector<OtherThread> users, others;
  for (const Thread& thread : process.threads | std::views::drop(1)) {
    if (thread.python.empty()) continue;
    const bool is_users = !std::ranges::all_of(thread.python, is_of_library);
    std::vector<OtherThread>& all = is_users ? users : others;
    OtherThread one{doing_of(thread), kept(thread.python)};
    const bool is_known = std::ranges::find(all, one) != all.end();
    if (!is_known && all.size() < most_threads_shown) all.push_back(std::move(one));
  }
  return users.empty() ? others : users;
}

std::size_t mixed(std::size_t seed, std::size_t value) {
  constexpr std::size_t golden_ratio = 0x9e3779b97f4a7c15;
  return seed ^ (value + golden_ratio + (seed << 6) + (seed >> 2));
}

std::size_t hash_of(const Standing& standing) {
  const std::hash<std::string> text;
  std::size_t hash = static_cast<std::size_t>(standing.doing);
  const auto add = [&](const std::vector<Frame>& frames) {
    for (const Frame& frame : frames) {
      hash = mixed(hash, text(frame.function));
      hash = mixed(hash, text(frame.file));
      hash = mixed(hash, static_cast<std::size_t>(frame.line));
    }
  };
  add(standing.frames);
  for (const Child& child : standing.children) {
    hash = mixed(hash, text(child.command));
    add(child.frames);
  }
  for (const OtherThread& thread : standing.threads) add(thread.frames);
  return hash;
}

// "train.py", or "data/loader.py" for a file that is not the first of a program.
std::string file_text(const std::string& file) {
  const std::size_t last = file.rfind('/');
  return last == std::string::npos ? file : file.substr(last + 1);
}

std::string frame_text(const Frame& frame) {
  return fmt::format("{}:{} in {}", file_text(frame.file), frame.line, frame.function);
}

// Python's own modules for threads, queues and processes, whose inner functions no user calls.
bool is_of_waiting(const Frame& frame) {
  constexpr std::array<std::string_view, 6> modules = {"/threading.py",     "/queue.py",
                                                       "/selectors.py",     "/subprocess.py",
                                                       "/multiprocessing/", "/concurrent/futures/"};
  const std::string_view file = frame.file;
  if (contains(file, "/site-packages/") || contains(file, "/dist-packages/")) return false;
  return contains(file, "/lib/python3") &&
         std::ranges::any_of(modules, [&](std::string_view one) { return contains(file, one); });
}

// "join", "Queue.get": the call that led into these modules, not the function in which they wait.
std::string call_text(const std::vector<Frame>& frames) {
  const Frame* call = &frames.front();
  for (const Frame& frame : frames) {
    if (!is_of_waiting(frame)) break;
    call = &frame;
  }
  const bool is_queue = is_of_waiting(*call) &&
                        (call->file.ends_with("/queue.py") || call->file.ends_with("/queues.py"));
  return (is_queue ? "Queue." : "") + call->function;
}

std::string place_in(Doing doing, const std::vector<Frame>& frames) {
  if (frames.empty()) return {};
  const auto user = frames.begin() + static_cast<std::ptrdiff_t>(users_frame(frames));
  const Frame& here = user == frames.end() ? frames.front() : *user;
  if (doing == Doing::communicates || is_communication(frames)) {
    // The outermost call of the communication is what the script called.
    const Frame* call = nullptr;
    for (auto frame = frames.begin(); frame != user; ++frame) {
      if (is_of_communication(*frame) && !is_wrapper(*frame)) call = &*frame;
    }
    if (call != nullptr) return fmt::format("in {}, {}", call->function, frame_text(here));
  }
  if (user == frames.end() || user == frames.begin()) return "at " + frame_text(here);
  return fmt::format("in {}, {}", call_text(frames), frame_text(here));
}

}  // namespace

std::string_view name_of(Doing doing) {
  return names_of(doing).name;
}

std::string_view doing_text(Doing doing, bool is_one) {
  return is_one ? names_of(doing).of_one : names_of(doing).of_several;
}

bool read_doing(std::string_view name, Doing& doing) {
  const auto found = std::ranges::find(doings, name, &DoingNames::name);
  if (found == doings.end()) return false;
  doing = found->doing;
  return true;
}

std::size_t users_frame(std::span<const Frame> frames) {
  return static_cast<std::size_t>(std::ranges::find_if_not(frames, is_of_library) - frames.begin());
}

bool is_communication(std::span<const Frame> frames) {
  const auto first = std::ranges::find_if_not(frames, is_wrapper);
  return first != frames.end() && is_of_communication(*first);
}

Standing standing_of(const Process& process) {
  if (process.threads.empty()) return standing_of_the_ended();
  const Thread& main = process.threads.front();
  Standing standing;
  standing.doing = doing_of(main);
  if (standing.doing == Doing::uninterruptible) standing.wchan = shortened(main.wchan);
  standing.frames = kept(main.python);
  if (standing.frames.empty()) standing.no_frames = shortened(process.no_python);
  if (standing.doing != Doing::communicates) standing.children = children_of(process);
  if (standing.doing == Doing::locked) standing.threads = threads_beside_main(process);
  return standing;
}

Standing standing_of_the_ended() {
  Standing standing;
  standing.doing = Doing::ended;
  return standing;
}

void Groups::add(Standing standing, std::span<const int> ranks) {
  const std::size_t hash = hash_of(standing);
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto same = std::find_if(
      first, last, [&](const auto& entry) { return groups_[entry.second].standing == standing; });
  if (same == last) {
    by_hash_.emplace(hash, groups_.size());
    groups_.push_back({std::move(standing), {ranks.begin(), ranks.end()}});
  } else {
    std::vector<int>& all = groups_[same->second].ranks;
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
}

bool Groups::some_communicate() const {
  return std::ranges::any_of(
      groups_, [](const Group& group) { return group.standing.doing == Doing::communicates; });
}

std::vector<Group> Groups::take() && {
  for (Group& group : groups_) std::ranges::sort(group.ranks);
  std::ranges::sort(groups_, [](const Group& a, const Group& b) {
    if (a.ranks.size() != b.ranks.size()) return a.ranks.size() > b.ranks.size();
    return a.ranks.front() < b.ranks.front();
  });
  return std::move(groups_);
}

bool has_own_place(const Standing& standing) {
  return !place_in(standing.doing, standing.frames).empty();
}

std::string place_text(const Standing& standing) {
  std::string text = place_in(standing.doing, standing.frames);
  for (const Child& child : standing.children) {
    const std::string place = place_in(child.doing, child.frames);
    text += fmt::format("{}its child process '{}' {}{}{}", text.empty() ? "" : "; ", child.command,
                        doing_text(child.doing), place.empty() ? "" : " ", place);
  }
  for (const OtherThread& thread : standing.threads) {
    text += fmt::format("{}its thread {} {}", text.empty() ? "" : "; ", doing_text(thread.doing),
                        place_in(thread.doing, thread.frames));
  }
  return text;
}

}  // namespace toprun::hang
