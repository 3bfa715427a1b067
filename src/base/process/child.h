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

// argv or envp for exec: pointers to the words, which must outlive it, and a null.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

struct Start {
  int in = -1;  // -1: inherited
  int out = -1;
  int err = -1;
  // Signals that start with their default action, and whether all signals are unblocked.
  enum class Signals { as_ours, terminals_default, all_default } signals = Signals::as_ours;
  bool own_group = false;
};

// The signals that a terminal sends to its foreground process group.
std::initializer_list<int> terminal_signals();

// Starts the program at a path, which gets no other descriptors but what KeptByCommands names; the
// caller must call await_end() once. Any thread may call it.
Result<pid_t> start(const std::string& program, const std::vector<std::string>& argv,
                    const Environment& environment, const Start& how);

// While it lives, commands get this descriptor too: a lock that lasts until the last of them ends,
// also if this process is killed. One at a time.
class KeptByCommands {
 public:
  explicit KeptByCommands(int fd);
  ~KeptByCommands();
  KeptByCommands(const KeptByCommands&) = delete;
  KeptByCommands& operator=(const KeptByCommands&) = delete;
};

// fork(2) for a child that does not become a command: it begins, and stays, with all signals
// blocked. A handler of ours would write to a pipe that it shares with this process.
pid_t fork_quietly();

// Waits for the command's end and gives its status, as waitpid(2) has it.
int await_end(pid_t pid);

// Sends the signal to the command's process group unless the command was reaped: then another
// process may have its number.
void signal_command(pid_t pid, int signal);

// The commands that have not ended.
std::vector<pid_t> running_commands();

// At most this long a start is waited for whose thread has not run since its program began.
inline constexpr std::chrono::milliseconds start_limit{500};

// For code that tells this process's other children from its commands: while it lives, no command
// begins to start.
class StartsPaused {
 public:
  StartsPaused();
  ~StartsPaused();
  StartsPaused(const StartsPaused&) = delete;
  StartsPaused& operator=(const StartsPaused&) = delete;

  // Those that have not ended, and children that have not become their program yet: one on a file
  // system that hangs may take for ever.
  std::vector<pid_t> commands() const;

 private:
  std::vector<pid_t> starting_;
};

// Reaps one ended child, for callers that reap all children; it keeps the status of commands for
// await_end(). Returns the pid; 0 if no child has ended, -1 if there are no children.
pid_t reap_any(int& status);

// 128+n if signal n ended it, as shells have it.
int exit_code(int status);

// If SIGTERM, SIGINT or SIGHUP ended a command, ends this process too: the sender (scancel, a user)
// meant both, and our own signal may still be on its way.
void end_as_told(int exit_code);

// kill(2) for one process or one process group. False: not sent, errno says why. They refuse ids
// that mean several groups or every process to kill(2) (0, -1, and group 1), so that an id that was
// reset after its process was reaped signals nothing. All signals are sent by these two functions.
bool signal_process(pid_t pid, int signal);
bool signal_group(pid_t leader, int signal);

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe();

// Reads until the end and passes on each line without its line end; a line longer than `most_bytes`
// comes in parts.
void read_lines(int fd, std::size_t most_bytes,
                const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
