#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/text/error.h"
#include "node/worker/spawn/spawn.h"
#include "node/worker/warm/parent.h"

namespace toprun::worker {

// The worker processes: children of this process, or of a shim in a container.
class Children {
 public:
  struct Ended {
    pid_t pid;
    int status;  // in the format of waitpid(2)
  };
  struct Reaped {
    std::vector<Ended> ended;
    bool childless = false;  // no process is left, not even an adopted process
  };

  virtual ~Children() = default;

  // Called between watch() and unwatch() when reap() may return processes that have ended.
  std::function<void()> on_change;

  // Called by start() after each program that it has started, because starting a thousand programs
  // takes a while.
  std::function<void()> on_progress;

  // Starts all programs or none, like spawn(). argv[0] is looked up where the program will run (the
  // host or the container). Call no other method while start() runs.
  virtual Result<std::vector<pid_t>> start(std::vector<spawn::Program> programs) = 0;
  // Call watch() after start(), on the event loop's thread.
  virtual void watch() = 0;
  virtual void unwatch() = 0;
  // Returns every process that has ended since the last call of reap(), including orphans that this
  // process has adopted.
  virtual Reaped reap() = 0;
  virtual void signal_groups(std::span<const pid_t> leaders, int signal) = 0;
  // Signals only those processes of the groups that have a handler for `signal`.
  virtual void notify_groups(std::span<const pid_t> leaders, int signal) = 0;
  virtual void signal_all(int signal) = 0;
  // Describes each remaining process for a message.
  virtual std::vector<std::string> describe_all() = 0;
};

// Returns an object for children of the calling process. The process becomes a subreaper and from
// then on reaps all its children. Call start() on a thread that outlives the children. If `warm`
// (a Python that has imported modules) is ready, the children are forked from it. The methods of
// Children do not treat this warm parent itself as a child.
std::unique_ptr<Children> own_children(boost::asio::io_context& io,
                                       const spawn::Inherited& inherited, std::string host,
                                       std::shared_ptr<warm::Parent> warm = nullptr);

}  // namespace toprun::worker
