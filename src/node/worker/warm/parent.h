#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "base/process/frames.h"
#include "base/text/error.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::warm {

// The time limit for the imports, which take minutes if many nodes read files that are not cached.
inline constexpr std::chrono::seconds import_limit{300};
// The time limit for the forks of all ranks of an attempt.
inline constexpr std::chrono::seconds fork_limit{20};

// A Python process that has imported what this node's ranks import, and forks the ranks
// (node/worker/warm/bootstrap.py). The process is started like a rank, with the same command line,
// but it never runs the user's script.
//
//   checking --bootstrap.py runs--> importing --imports done, and safe to fork--> ready
//       \-------------------------------\--- the process refuses, ends or fails ---> refused
//
// An intermediate process forks the ranks and ends at once. So the ranks become children of the
// calling process, which must be a subreaper. Call all methods on the thread that started the
// parent (PDEATHSIG). The destructor kills the process; the caller reaps it.
class Parent {
 public:
  enum class State { checking, importing, ready, refused };

  // `command` is the command of a rank: its argv[0] must be Python. The command's standard streams
  // are not used. `limit`: the time limit for the imports; the caller must enforce it.
  static Result<std::unique_ptr<Parent>> start(spawn::Program command,
                                               std::vector<std::string> modules,
                                               const spawn::Inherited& inherited, std::string host,
                                               std::chrono::milliseconds limit = import_limit);
  ~Parent();
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;

  State state() const { return state_; }
  bool settled() const { return state_ == State::ready || state_ == State::refused; }
  // The reason for the state `refused`.
  const std::string& why() const { return why_; }
  // The descriptor that is readable when hear() must be called; -1 in the state `refused`.
  int descriptor() const { return channel_.get(); }
  // The process id, or 0 if there is no process. The process is not a rank, so the caller must not
  // signal it.
  pid_t pid() const { return pid_; }
  // The modules that the process has imported: first the given modules, then those that the script
  // imports at its beginning.
  const std::vector<std::string>& imported() const { return imported_; }
  // How long the imports took.
  std::chrono::milliseconds import_time() const { return import_time_; }

  std::chrono::steady_clock::time_point deadline() const { return began_ + limit_; }

  // Reads messages from the process; does not wait.
  void hear();
  // Sets the state to refused and kills the process.
  void refuse(std::string why);
  // Like refuse(), but the reason is that the imports have exceeded their time limit.
  void refuse_late();
  // Call ended() after the process was reaped.
  void ended();
  // If the parent is ready, forks all ranks or none and returns their process ids in order. After
  // an error, no forked rank is left, and the ranks can be started normally. Blocks for at most
  // about fork_limit and calls `beat` meanwhile.
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
  Fd output_, errors_;  // the output during the imports; each rank prints this output again
  pid_t pid_ = 0;
  std::chrono::steady_clock::time_point began_;
  std::chrono::milliseconds import_time_{0};
  std::vector<std::string> imported_;
};

// Returns the message that the ranks are started normally, not by the warm parent, and why.
std::string left_out(const std::string& host, const std::string& why);

// Handles the parent's messages until its state is ready or refused. At the parent's deadline, sets
// its state to refused.
boost::asio::awaitable<void> settle(boost::asio::io_context& io, std::shared_ptr<Parent> parent);

}  // namespace toprun::warm
