#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::process {

// Returns argv or envp for exec: pointers to the words, followed by a null. `words` must outlive
// the pointers.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

struct Start {
  int in = -1;  // -1: inherited
  int out = -1;
  int err = -1;
  // The signals that get their default action in the program: none (as_ours), terminal_signals(),
  // or all. With all_default, all signals are also unblocked.
  enum class Signals { as_ours, terminals_default, all_default } signals = Signals::as_ours;
  bool own_group = false;
};

// Returns the signals that a terminal sends to its foreground process group.
std::initializer_list<int> terminal_signals();

// Starts the program at a path. Besides `in`, `out` and `err`, the program inherits only the
// descriptor that a KeptByCommands object names. The caller must call await_end() once. Any thread
// may call start().
Result<pid_t> start(const std::string& program, const std::vector<std::string>& argv,
                    const Environment& environment, const Start& how);

// While this object exists, every command that start() starts also inherits the descriptor `fd`. If
// the descriptor holds a file lock, the lock is held until the last of these commands ends, even if
// this process is killed. At most one such object is allowed at a time.
class KeptByCommands {
 public:
  explicit KeptByCommands(int fd);
  ~KeptByCommands();
  KeptByCommands(const KeptByCommands&) = delete;
  KeptByCommands& operator=(const KeptByCommands&) = delete;
};

// Calls fork(2) for a child that does not call exec. All signals stay blocked in the child, because
// one of toprun's signal handlers would write to a pipe that the child shares with this process.
pid_t fork_with_signals_blocked();

// Waits until a command from start() ends. Returns its status in the form of waitpid(2).
int await_end(pid_t pid);

// Sends the signal to the command's process group. Does nothing after the command was reaped,
// because another process may have the same id by then.
void signal_command(pid_t pid, int signal);

// Returns the process ids of all commands from start() that have not ended yet.
std::vector<pid_t> running_commands();

// StartsPaused waits at most this long for calls of start() on other threads. Such a call is often
// nearly done: its child has called exec, but the thread has not run again yet.
inline constexpr std::chrono::milliseconds start_limit{500};

// While this object exists, no new command starts. StartsPaused is for code that has to distinguish
// this process's other children from its commands.
class StartsPaused {
 public:
  StartsPaused();
  ~StartsPaused();
  StartsPaused(const StartsPaused&) = delete;
  StartsPaused& operator=(const StartsPaused&) = delete;

  // Returns the process ids of all commands that have not ended. Also returns start()'s children
  // that have not called exec yet, for example because exec hangs on a network file system.
  std::vector<pid_t> commands() const;

 private:
  std::vector<pid_t> starting_;
};

// Reaps one ended child, for callers that reap all children. The status of a command is kept for
// await_end(). Returns the pid; 0 if no child has ended, -1 if there are no children.
pid_t reap_any(int& status);

// Returns the exit code for a status of waitpid(2): 128+n if signal n ended the process, as in a
// shell.
int exit_code(int status);

// If SIGTERM, SIGINT or SIGHUP ended a command, this function ends the calling process too. The
// signal's sender (scancel, a user) meant both processes, but the calling process may not have
// received its signal yet.
void end_at_once(int exit_code);

// signal_process() and signal_group() call kill(2) for one process or one process group. Both
// refuse ids that kill(2) interprets as several groups or all processes (0, -1, and group 1). So if
// an id is set to 0 or -1 after its process was reaped, no signal is sent. False: the signal was
// not sent; errno has the reason. All signals from toprun are sent through these two functions.
bool signal_process(pid_t pid, int signal);
bool signal_group(pid_t leader, int signal);

struct Pipe {
  Fd read, write;
};
// Creates a pipe. `more`: flags for pipe2(2) in addition to O_CLOEXEC.
Result<Pipe> make_pipe(int more = 0);

// Reads from `fd` until the end of the stream. Passes each line, without its line end, to
// `on_line`. A line longer than `most_bytes` is passed in parts.
void read_lines(int fd, std::size_t most_bytes,
                const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
