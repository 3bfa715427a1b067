#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/fd.h"
#include "base/process/beat.h"
#include "base/text/error.h"
#include "node/worker/spawn/inherited.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::warm {

// The time limit for the imports; a cold file system at scale takes minutes.
inline constexpr std::chrono::seconds import_limit{300};
// The time limit for the forks of all ranks of an attempt.
inline constexpr std::chrono::seconds fork_limit{20};

// A Python that has imported what this node's ranks import and forks them
// (node/worker/warm/bootstrap.py). It is started like a rank, by the same command line, but it
// never runs the user's script.
//
//   checking --our module is imported--> importing --done, and safe to fork--> ready
//       \------------------------------------\--- it refuses, ends, or breaks ---> refused
//
// Ranks that it forks become children of the calling process, which has to be a subreaper: the
// process that forks them ends at once. All methods must be called on the thread that started it
// (PDEATHSIG). The destructor kills it; the caller reaps it.
class Parent {
 public:
  enum class State { checking, importing, ready, refused };

  // `command` is a rank's: its argv[0] must be Python. Its standard streams are not used. `limit`:
  // for its imports; the caller keeps it.
  static Result<std::unique_ptr<Parent>> start(spawn::Program command,
                                               std::vector<std::string> modules,
                                               const spawn::Inherited& inherited, std::string host,
                                               std::chrono::milliseconds limit = import_limit);
  ~Parent();
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;

  State state() const { return state_; }
  bool settled() const { return state_ == State::ready || state_ == State::refused; }
  // Why its state is refused.
  const std::string& why() const { return why_; }
  // Readable when hear() has something to do; -1 once refused.
  int descriptor() const { return channel_.get(); }
  // The process, 0 if there is none. It is not a rank: the caller leaves it alone.
  pid_t pid() const { return pid_; }
  // The modules that it has imported by name: the given ones and the script's first.
  const std::vector<std::string>& imported() const { return imported_; }
  // How long the imports took.
  std::chrono::milliseconds import_time() const { return import_time_; }

  std::chrono::steady_clock::time_point deadline() const { return began_ + limit_; }

  // Reads what the process says; does not wait.
  void hear();
  // Refuses from now on, and kills the process.
  void refuse(std::string why);
  // The same at its deadline.
  void refuse_late();
  // The caller has reaped the process.
  void ended();
  // Forks all ranks or none and returns their process ids in order, if it is ready. On an error
  // nothing of them is left, and they can be started in the ordinary way.
  // Blocks for about fork_limit at most and calls `beat` meanwhile.
  Result<std::vector<pid_t>> fork(std::span<const spawn::Program> ranks, const process::Beat& beat);

 private:
  Parent(spawn::Program command, std::vector<std::string> modules,
         const spawn::Inherited& inherited, std::string host, std::chrono::milliseconds limit);
  Result<void> start_process(bool check);
  void heard(const std::vector<std::string>& fields);
  std::string last_words() const;

  const spawn::Program command_;
  const std::vector<std::string> modules_;
  const spawn::Inherited inherited_;
  const std::string host_;
  const std::chrono::milliseconds limit_;
  State state_ = State::checking;
  std::string why_;
  Fd channel_;
  Fd output_, errors_;  // what is printed during the imports; each rank prints it again
  pid_t pid_ = 0;
  std::chrono::steady_clock::time_point began_;
  std::chrono::milliseconds import_time_{0};
  std::vector<std::string> imported_;
};

// The message for users whose ranks start in the ordinary way.
std::string left_out(const std::string& host, const std::string& why);

}  // namespace toprun::warm
