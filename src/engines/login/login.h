#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "engines/engine.h"

namespace toprun::engines {

// The engine of jobs for which the user names hosts (--hosts, --hostfile) or pods that only sleep
// (--in). Each host or pod gets an agent by a separate login: ssh, or the engine's `exec` into a
// pod. The launcher (the toprun with the stance `starter`) keeps running, because every agent lives
// only as long as its connection.
//
//   | the environment or the user specifies    | stance  | engine        |
//   |------------------------------------------|---------|---------------|
//   | the launcher's variables for this agent  | agent   | the launcher's |
//   | hosts                                    | starter | ssh           |
//   | pods                                     | starter | exec          |
class LoginEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::ssh; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

// What an agent must know about its launch, such as the index of its own node. The launcher sends
// these facts to the agent in environment variables, from which detect() reads them.
struct LoginPlace {
  std::string job;
  std::vector<Node> nodes;
  int node = 0;  // the index of the agent's node
  int root = 0;  // the index of the root agent's node
  std::string root_address;
  EngineKind engine = EngineKind::ssh;  // ssh or exec
  bool stays = false;                   // the agent continues without its launcher, and gets no
                                        // more messages from the launcher
};
std::map<std::string, std::string> variables_of(const LoginPlace& place);
bool is_login_agent(const Environment& environment);

// The launcher sets this variable for an agent that gets its instructions on standard input.
inline constexpr const char* login_step_variable = "TOPRUN_STEP";
inline constexpr const char* login_step = "login";

// toprun's program for one kind of machine.
struct Binary {
  std::string machine;  // as `uname -m` prints it: "x86_64"
  std::string id;       // its identifier in the hosts' caches: hex digits, at least 16
  std::size_t bytes = 0;
};

// Returns the script that a login runs in a POSIX sh on the host. If toprun's program is in the
// host's cache, the script runs it. Otherwise the script requests the program on stdout, reads the
// program from stdin and stores it. The script prints lines that begin with `login_mark`, and then
// becomes the agent:
//
//   need MACHINE                send the program for this kind of machine on stdin
//   run CLIENT PORT SERVER PORT PATH   the program starts now ($SSH_CONNECTION, dashes if unset)
//   refused BYTES WHY           no folder can hold the program of this size, one reason per folder
//   other MACHINE               there is no program for this kind of machine
//
// The folders are $XDG_CACHE_HOME/toprun (else ~/.cache/toprun), then toprun-USER below /var/tmp,
// /dev/shm and /tmp. A folder that belongs to another user is skipped. The script contains no
// single quote, backslash, exclamation mark or line end.
std::string login_script(std::span<const Binary> binaries);
inline constexpr std::string_view login_mark = "toprun-login ";
// Returns the line that the agent itself prints before it reads its instructions:
// "toprun-login up MACHINE 10.1.0.5\n", a dash for what is empty. `machine` is equal for two agents
// only if they run on one machine, in the same network and process namespaces.
std::string login_up(std::string_view machine, std::string_view address);
// The line that the agent prints on stderr once it can join.
inline constexpr std::string_view login_joins = "toprun-login joins\n";
// The agent's last line if it continues without its connection to the launcher. In this case, the
// login exits with 0.
inline constexpr std::string_view login_kept = "toprun-login kept\n";
// Returns the agent's last line. The line has the agent's exit code, which ssh or kubectl may not
// return.
std::string login_ended(int exit_code);  // "toprun-login ended with 7\n"
// Returns the exit code in a line of login_ended(). Removes this line and all text after it, which
// comes from the login program. nullopt: the text has no such line.
std::optional<int> take_login_end(std::string& text);

// Why a login failed.
struct LoginTrouble {
  std::string why;
  std::string fix;  // HOST is a placeholder for the host
};

// What a message from ssh, kubectl or runai means, and what the user can do.
struct KnownTrouble {
  std::string_view words;  // in lower case
  std::string_view why;    // empty: show the line that the program printed
  std::string_view fix;
};

// The program and options to use instead of `ssh`, separated by blanks.
inline constexpr const char* ssh_program_variable = "TOPRUN_SSH";

inline constexpr int ssh_connect_limit_s = 8;  // toprun must report a dead host within 10 s

// Returns the command `ssh … -- LOGIN LINE`. The command never prompts for a password or a host
// key; the user's ssh configuration decides which host keys are accepted.
std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line);

// Returns the command line for the login shell on a host. Any shell can run this line, which passes
// login_script() to a POSIX sh.
std::string ssh_line(std::span<const Binary> binaries);

// Returns why a login failed, according to ssh's stderr. If possible, the text does not contain the
// host's name, so that one message can be for all hosts with the same problem.
LoginTrouble ssh_trouble(std::string_view said);

// Returns the command for a login into a pod. The command consists of the engine's command
// (Node::exec) and of the script that finds or downloads toprun in the pod.
std::vector<std::string> exec_login(const std::vector<std::string>& exec,
                                    std::span<const Binary> binaries);

// Returns why a login into a pod failed, according to the stderr of kubectl or runai.
LoginTrouble exec_trouble(std::string_view said);

// Returns the text without kubectl's line about the exit code of the executed command.
std::string without_exec_end(std::string_view said);

}  // namespace toprun::engines
