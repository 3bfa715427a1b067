#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/container/file_lock.h"
#include "machine/container/runtime.h"

namespace toprun::container {

inline constexpr std::chrono::minutes creation_limit{60};  // an image of 20 GB over a slow line
inline constexpr std::chrono::milliseconds lock_interval{100};  // between two tries

// What the runtime needs before its container starts (Runtime::product), made if it is not there
// yet. Of several processes and nodes that share its folder one makes it and the others wait, by a
// lock beside it, which is held as long as the object lives. Beside what is made a file says from
// which image; without one it is the user's own, made by other means.
//
//   try_begin() --another makes it--> wait, try again
//               --not there--> make: run all of commands(), then completed()
//               --there, or nothing to be made--> ready
class Preparation {
 public:
  enum class State { ready, wait, make };

  Preparation(const Runtime& runtime, const Run& run, const Node& node,
              const Environment& environment);

  // Never waits. Errors: it was made from another image, or from a file that has changed since; its
  // folder cannot be made; another user could have put it there.
  Result<State> try_begin();
  std::vector<Command> commands() const;
  // What one of them said before it failed; in the user's words where they are known.
  Error failure(const Command& command, int code, std::string_view its_words) const;
  Result<void> completed();

  // "n1: container NAME" or "n1: container image IMAGE", for messages.
  std::string what() const;
  const std::filesystem::path& path() const { return path_; }
  // "/scratch/ada/toprun/containers/NAME (SCRATCH)": with what said so.
  std::string where() const;

 private:
  std::filesystem::path beside(std::string_view ending) const;
  Result<bool> try_lock();
  Result<void> check_places() const;
  Result<void> check_record() const;
  void make_targets() const;

  const Runtime& runtime_;
  const Run& run_;
  const Node& node_;
  const Environment& environment_;
  std::optional<Place> place_;  // unset: nothing to be made
  std::filesystem::path path_;  // its
  std::unique_ptr<FileLock> lock_;
};

// All of that at once, for who may block: at most creation_limit for the lock and for each command.
// `say` gets a line when it begins to make or to wait.
Result<void> prepare(const Runtime& runtime, const Run& run, const Node& node,
                     const Environment& environment,
                     const std::function<void(const std::string&)>& say);

// What tells that an image's file is still the same one: size and time; empty for a reference.
std::string fingerprint(std::string_view image);

}  // namespace toprun::container
