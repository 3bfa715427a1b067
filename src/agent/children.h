#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "agent/inherited.h"
#include "agent/spawn.h"
#include "base/error.h"

namespace toprun::agent {

// Where the workers' processes are: below this process, or below a shim in a container.
class Children {
 public:
  struct Ended {
    pid_t pid;
    int status;  // as waitpid(2) tells it
  };
  struct Reaped {
    std::vector<Ended> ended;
    bool childless = false;  // no process is left at all, whoever started it
  };

  virtual ~Children() = default;

  // Called when reap() may have news, from watch() to unwatch().
  std::function<void()> on_change;

  // Called after each program that start() has started: a thousand take their time.
  std::function<void()> on_progress;

  // Starts all or none, as spawn(); each program's argv[0] is looked up where it is to run.
  // Nothing else may be asked meanwhile.
  virtual Result<std::vector<pid_t>> start(std::vector<Program> programs) = 0;
  // After start(), on the event loop's thread.
  virtual void watch() = 0;
  virtual void unwatch() = 0;
  // Every process that ended since the last call, adopted ones included.
  virtual Reaped reap() = 0;
  virtual void signal_groups(std::span<const pid_t> leaders, int signal) = 0;
  // Only processes of these groups that have a handler for it.
  virtual void notify_groups(std::span<const pid_t> leaders, int signal) = 0;
  virtual void signal_all(int signal) = 0;
  // What is still there, each in words for a message.
  virtual std::vector<std::string> describe_all() = 0;
};

// Children of the calling process, which is made a subreaper and from then on reaps every child
// that it has. start() has to be called on the thread that outlives them.
std::unique_ptr<Children> own_children(boost::asio::io_context& io, const Inherited& inherited,
                                       std::string host);

}  // namespace toprun::agent
