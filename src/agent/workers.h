#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "agent/children.h"
#include "agent/exit.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/pool.h"
#include "output/output.h"

namespace toprun::agent {

struct WorkerPlan {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string>
      argv;                  // argv[0] is searched in the environment's PATH if it has no slash
  Environment environment;   // complete
  std::string program = {};  // the file that argv[0] means there, where it was looked up by then
  output::StreamPlan out;
  output::StreamPlan err;
  std::string error_file;      // TORCHELASTIC_ERROR_FILE, read when the worker failed; may be empty
  bool inherit_stdin = false;  // else /dev/null
  std::vector<int> kept_fds;   // besides stdin, stdout and stderr
  std::vector<int> cpus;       // that it is bound to; empty: the inherited ones
};

// Processes that workers left behind when the last of them ended get SIGTERM and so long to go.
inline constexpr std::chrono::seconds leftover_grace{2};
// Nothing that got SIGKILL so long ago will ever die (a driver or file server that hangs): it is
// named and given up.
inline constexpr std::chrono::seconds unkillable_limit{15};
// Once stop() was called, a console that takes nothing holds up the end so long at most.
inline constexpr std::chrono::seconds flush_limit{2};

// The workers of one node for one attempt.
//
//   idle --start()--> running --last worker ended--> leaving --no process is left--> flushing
//                        \------------- stop() -------^                                  |
//                                                             output written: gone <-----+
//
// Each worker leads a session and process group of its own. start() must be called on the thread
// that outlives the workers (PDEATHSIG fires when the forking thread ends). From start() to `gone`
// all of `children` are taken for a worker or what one left behind, reaped and at the end killed:
// start no other there. All callbacks come from the io_context's thread and may destroy the object.
class Workers {
 public:
  struct Observer {
    std::function<void(const WorkerExit&)> exited;  // once per worker, all that it printed read
    std::function<void()> gone;  // all exited, no descendant left, output written
  };

  Workers(boost::asio::io_context& io, std::shared_ptr<Children> children, std::string host,
          std::vector<WorkerPlan> plans, Observer observer, output::OutputPlan output);
  ~Workers();  // kills and reaps whatever is left; no more callbacks
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts all or none: if one cannot be started, those already started are killed and reaped.
  Result<void> start();
  // The same for children whose start() may block (a container's shim): on the pool. Until then
  // nothing is passed on.
  boost::asio::awaitable<Result<void>> start_beside(Pool& pool);
  // Passes a signal on to every worker's process group; an exit by it does not count as ours.
  void forward(int signal);
  // As forward(), but only to processes that have a handler for it.
  void notify(int signal);
  // SIGSTOP or SIGCONT to every process group: SIGTSTP would not stop them, for the parent of each
  // is in another session (POSIX, "orphaned process group"). stop() lets stopped ones go on.
  void pause(bool paused);
  // The console's terminal has another size now.
  void resize();
  // SIGTERM to every process group, SIGKILL after `grace` to what is left, setsid descendants
  // included. Exits from then on are marked `ours`. Idempotent; a shorter grace wins.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace toprun::agent
