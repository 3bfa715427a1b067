#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/os/environment.h"
#include "base/os/pool.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "node/output/output.h"
#include "node/worker/children.h"
#include "run/model/exit.h"

namespace toprun::worker {

// How one worker is started, and where its output goes.
struct WorkerPlan {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string> argv;  // looked up in the environment's PATH if it has no slash
  Environment environment;        // the complete environment
  std::string program = {};       // the file that argv[0] resolves to, if already known
  output::StreamPlan out;
  output::StreamPlan err;
  // The file named by TORCHELASTIC_ERROR_FILE, read after the worker has failed; may be empty.
  std::string error_file;
  bool inherit_stdin = false;  // false: stdin is /dev/null
  std::vector<int> kept_fds;   // descriptors that stay open in addition to stdin, stdout and stderr
  std::vector<int> cpus;       // CPU binding; empty: the inherited CPUs
  std::shared_ptr<const spawn::View> view = {};  // see spawn::Program
};

// If workers leave processes behind, these get this time between SIGTERM and SIGKILL.
inline constexpr std::chrono::seconds leftover_grace{2};
// How long the workers' remaining output may wait for a blocked console after stop().
inline constexpr std::chrono::seconds flush_limit{2};

// The workers of one node for one attempt.
//
//   idle --start()--> running --last worker ended--> leaving --no process is left--> flushing
//                        \------------- stop() -------^                                  |
//                                                             output written: gone <-----+
//
// Each worker leads its own session and process group. Call start() on a thread that outlives the
// workers, because PDEATHSIG kills them when the thread that forked them ends. From start() to
// `gone`, every process in `children` counts as a worker or a worker's descendant, and is reaped
// and finally killed. So do not start other processes in `children`. All callbacks run on the
// io_context's thread and may destroy the object.
class Workers {
 public:
  struct Observer {
    std::function<void(const model::WorkerExit&)>
        exited;  // once per worker, after all its output was read
    // Called when all workers have exited, no descendant is left and all output is written.
    std::function<void()> gone;
  };

  Workers(boost::asio::io_context& io, std::shared_ptr<Children> children, std::string host,
          std::vector<WorkerPlan> plans, Observer observer, output::OutputPlan output);
  ~Workers();  // kills and reaps all remaining processes; makes no more callbacks
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts all workers or none. If a worker cannot be started, start() kills and reaps the workers
  // that were already started.
  Result<void> start();
  // Like start(), but on the pool, for children whose start() may block (a container's shim). No
  // signal is forwarded until this function has finished.
  boost::asio::awaitable<Result<void>> start_beside(Pool& pool);
  // Returns the process ids in the workers' own PID namespace, by local rank, once the workers are
  // started. 0 for a worker that has ended, because another process may now have its id.
  std::vector<pid_t> pids() const;
  struct LastOutput {
    std::optional<SteadyTime> read;  // unset: no output yet
    std::string tail;
  };
  std::vector<LastOutput> last_outputs() const;  // indexed by local rank
  // Sends a signal to every worker's process group. An exit that the signal causes does not count
  // as caused by toprun (WorkerExit::ours).
  void forward(int signal);
  // Like forward(), but only to processes that have a handler for the signal.
  void notify(int signal);
  // Sends SIGSTOP or SIGCONT to every process group. SIGTSTP would not stop the groups, because
  // each leader's parent is in another session (POSIX, "orphaned process group"). stop() continues
  // stopped groups.
  void pause(bool paused);
  // Copies the new size of the console's terminal to the workers.
  void resize();
  // Sends SIGTERM to every process group and, after `grace`, SIGKILL to all remaining processes,
  // including setsid descendants. Exits after this call are marked as caused by toprun
  // (WorkerExit::ours). stop() may be called again; the shortest `grace` applies.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace toprun::worker
