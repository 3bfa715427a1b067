#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine/stacks/look.h"

namespace toprun::hang {

// What a rank's main thread does.
enum class Doing {
  communicates,     // is in a call of torch.distributed, or of what waits for one
  waits,            // sleeps in the kernel, elsewhere
  locked,           // … until another thread wakes it (futex(2)): a lock, a queue, a thread's end
  computes,         // runs
  stopped,          // by a signal or a debugger
  uninterruptible,  // in the kernel, where no signal reaches it (state D): a file server, a driver
  ended,            // has exited; its process or its agent is still there
};

// Bounds of what is kept of a rank; what is beyond them is left out.
inline constexpr std::size_t most_frames = 40;
inline constexpr std::size_t most_children = 2;
inline constexpr std::size_t most_threads_shown = 2;
inline constexpr std::size_t longest_name = 256;

// A process below a rank for which the rank may be waiting.
struct Child {
  std::string command;
  Doing doing = Doing::waits;
  std::vector<stacks::Frame> frames;  // of its main thread, innermost first
  bool operator==(const Child&) const = default;
};

// Another Python thread of a rank, for which its main thread may be waiting: to end, or to release
// a lock.
struct OtherThread {
  Doing doing = Doing::waits;
  std::vector<stacks::Frame> frames;  // innermost first
  bool operator==(const OtherThread&) const = default;
};

// Where a rank stands.
struct Standing {
  Doing doing = Doing::waits;
  std::string wchan;                  // for uninterruptible: the kernel function; empty: unknown
  std::vector<stacks::Frame> frames;  // of the main thread, innermost first; empty: unknown
  std::string no_frames;              // why they are unknown
  std::vector<Child> children;        // if it does not communicate
  std::vector<OtherThread> threads = {};  // if its main thread is locked
  bool operator==(const Standing&) const = default;
};

Standing standing_of(const stacks::Process& process);
// … of a rank that has exited.
Standing standing_of_the_ended();

// Whether the frames end in a call that waits for other ranks.
bool is_communication(std::span<const stacks::Frame> frames);

// Ranks that stand in the same place.
struct Group {
  Standing standing;
  std::vector<int> ranks;  // ascending
};

// Collects the ranks of many nodes; its cost depends on the number of groups.
class Groups {
 public:
  void add(Standing standing, std::span<const int> ranks);
  bool some_communicate() const;
  // The largest first; of equally large ones that with the lowest rank.
  std::vector<Group> take() &&;

 private:
  std::vector<Group> groups_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;  // → index in groups_
};

// "in all_reduce, train.py:88 in step"; empty: unknown.
std::string place_text(const Standing& standing);
// Whether that begins with the rank's own place, and not with a child's or a thread's.
bool has_own_place(const Standing& standing);
// "waits" or, of several, "wait".
std::string_view doing_text(Doing doing, bool is_one = true);
std::string_view name_of(Doing doing);  // in JSON and on the wire
// False if no name fits.
bool read_doing(std::string_view name, Doing& doing);

}  // namespace toprun::hang
