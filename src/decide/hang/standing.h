#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine/stacks/inspect.h"

namespace toprun::hang {

// What a rank's main thread does.
enum class Doing {
  communicates,     // is in a torch.distributed call, or in code that calls into one
  waits,            // sleeps in the kernel, for another reason
  locked,           // sleeps until another thread wakes it (futex(2)): waits for a lock, a queue or
                    // a thread's end
  computes,         // uses a CPU
  stopped,          // stopped by a signal or a debugger
  uninterruptible,  // in the kernel, where signals have no effect (state D): waits for a file
                    // server or a driver
  ended,            // has exited; its process or its agent still exists
};

// Limits for the data that is stored about a rank. Frames, children and threads beyond them are
// left out.
inline constexpr std::size_t most_frames = 40;
inline constexpr std::size_t most_children = 2;
inline constexpr std::size_t most_threads_shown = 2;
inline constexpr std::size_t longest_name = 256;

// A child process of a rank. Perhaps the rank waits for this child.
struct Child {
  std::string command;
  Doing doing = Doing::waits;
  std::vector<stacks::Frame> frames;  // of its main thread, innermost first
  bool operator==(const Child&) const = default;
};

// Another Python thread of a rank. Perhaps the main thread waits for this thread to end or to
// release a lock.
struct OtherThread {
  Doing doing = Doing::waits;
  std::vector<stacks::Frame> frames;  // innermost first
  bool operator==(const OtherThread&) const = default;
};

// What a rank's main thread does, and where: its stack.
struct Standing {
  Doing doing = Doing::waits;
  std::string wchan;                  // for uninterruptible: the kernel function; empty: unknown
  std::vector<stacks::Frame> frames;  // of the main thread, innermost first; empty: unknown
  std::string no_frames;              // why the frames are unknown
  std::vector<Child> children;        // empty if the main thread communicates
  std::vector<OtherThread> threads = {};  // only if the main thread is locked
  bool operator==(const Standing&) const = default;
};

Standing standing_of(const stacks::Process& process);
// Returns the Standing of a rank that has exited.
Standing standing_of_the_ended();

// Returns the index of the innermost frame of the user's own code; frames.size(): there is none.
std::size_t users_frame(std::span<const stacks::Frame> frames);

// Whether the innermost call waits for other ranks.
bool is_communication(std::span<const stacks::Frame> frames);

// Ranks with the same standing.
struct Group {
  Standing standing;
  std::vector<int> ranks;  // ascending
};

// Groups the ranks of many nodes by what their main threads do (Standing). Each group stores its
// Standing only once.
class Groups {
 public:
  void add(Standing standing, std::span<const int> ranks);
  bool some_communicate() const;
  // Returns the groups, the largest first. Of two groups with equal size, the group with the lowest
  // rank comes first.
  std::vector<Group> take() &&;

 private:
  std::vector<Group> groups_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;  // → index in groups_
};

// Returns where the rank is: "in all_reduce, train.py:88 in step"; empty: unknown.
std::string place_text(const Standing& standing);
// Whether place_text() begins with a place in the rank's main thread. False: the place is in a
// child or another thread.
bool has_own_place(const Standing& standing);
// Returns a verb for what ranks do: "waits" for one rank, "wait" for several.
std::string_view doing_text(Doing doing, bool is_one = true);
std::string_view name_of(Doing doing);  // in JSON and on the wire
// Sets `doing`. False if `name` is unknown.
bool read_doing(std::string_view name, Doing& doing);

}  // namespace toprun::hang
