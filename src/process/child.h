#pragma once

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"

namespace toprun::process {

// argv or envp as exec takes it: a pointer to each of the words, which must stay, and a null.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

struct Start {
  int in = -1;  // -1: as ours
  int out = -1;
  int err = -1;
  // Which signals begin with their default there, and whether none is blocked.
  enum class Signals { as_ours, terminals_default, all_default } signals = Signals::as_ours;
  bool own_group = false;
};

// The signals that a terminal sends to all processes in its foreground.
std::initializer_list<int> terminal_signals();

// Starts a program, a path, as a command: await_end() has to be called once. Any thread may.
Result<pid_t> start(const std::string& program, const std::vector<std::string>& argv,
                    const Environment& environment, const Start& how);

// Waits for the command's end and gives its status, as waitpid(2) has it.
int await_end(pid_t pid);

// Sends the signal to the command's process group unless it was reaped: its number may be another's
// then.
void signal_command(pid_t pid, int signal);

// Reaps one child that has ended, for whoever reaps all: a command's status is kept for
// await_end(). Its pid; 0 if none has ended, -1 if there are none.
pid_t reap_any(int& status);

// 128+n if signal n ended it, as shells have it.
int exit_code(int status);

// Ends this process too where SIGTERM, SIGINT or SIGHUP ended a command: whoever sent it (scancel,
// a user) meant both, and our own signal may still be under way.
void end_as_told(int exit_code);

// kill(2) for one process or for the group of one leader. False: not sent, errno says why. Ids that
// kill(2) takes for several groups or for every process (0, -1, and group 1) are refused, so that
// an id that was reset after its process was reaped reaches nobody. The only calls of kill(2).
bool signal_process(pid_t pid, int signal);
bool signal_group(pid_t leader, int signal);

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe();

// Reads to the end; each line is given without its end, one above `most_bytes` in parts.
void read_lines(int fd, std::size_t most_bytes,
                const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
