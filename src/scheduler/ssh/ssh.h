#pragma once

#include <map>
#include <span>

#include "scheduler/engine.h"

namespace toprun::scheduler {

// The user names the hosts (--hosts, --hostfile); each gets an agent by a login of its own. The
// launcher is a starter that stays, because every agent lives only as long as its connection.
//
//   | given                                    | stance  |
//   |------------------------------------------|---------|
//   | what the launcher told this agent        | agent   |
//   | hosts                                    | starter |
class SshEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::ssh; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

// What the launcher tells one agent of its place; detect() reads it back.
struct SshPlace {
  std::string job;
  std::vector<Node> nodes;
  int node = 0;  // which of them the agent is on
  int root = 0;  // … and the root agent
  std::string root_address;
};
std::map<std::string, std::string> variables_of(const SshPlace& place);
bool is_ssh_agent(const Environment& environment);

// In the environment of an agent that waits for its orders on standard input.
inline constexpr const char* ssh_step_variable = "TOPRUN_STEP";
inline constexpr const char* ssh_step = "ssh";
// The program and options to use in place of `ssh`, separated by blanks.
inline constexpr const char* ssh_program_variable = "TOPRUN_SSH";

inline constexpr int ssh_connect_limit_s = 8;  // a dead host is to be named within 10 s

// `ssh … -- LOGIN LINE`: no question is ever asked, host keys stay as the user's configuration has
// them.
std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line);

// What identifies the agent's program among others in the hosts' caches.
struct Binary {
  std::string id;  // hex digits, at least 16
  std::size_t bytes = 0;
};

// What a host's shell is to run: the cached program if it is there, else it asks for it on stdout,
// reads it from stdin and keeps it. Any shell hands it on to a POSIX sh; it writes lines that begin
// with `ssh_mark`, then becomes the agent:
//
//   need                        send so many bytes on stdin
//   run CLIENT PORT SERVER PORT PATH   the program starts now ($SSH_CONNECTION, dashes if unset)
//   refused WHY                 there is no place for the program, one reason per folder
//
// The folders are $XDG_CACHE_HOME/toprun (else ~/.cache/toprun), then toprun-USER below /var/tmp,
// /dev/shm and /tmp; one that is not this user's own is passed over.
std::string ssh_line(const Binary& binary);
inline constexpr std::string_view ssh_mark = "toprun-ssh ";
// … and the agent's own, before it reads its orders; on stderr, once nothing more keeps it from
// joining; before it exits with 255, which is also what ssh exits with when a connection breaks.
inline constexpr std::string_view ssh_up = "toprun-ssh up\n";
inline constexpr std::string_view ssh_joins = "toprun-ssh joins\n";
inline constexpr std::string_view ssh_ended_with_255 = "toprun-ssh ended with 255\n";

// Why a login failed, from what ssh wrote to stderr; without the host's name where that is
// possible, so that hosts with the same trouble can be named together.
struct SshTrouble {
  std::string why;
  std::string fix;  // HOST stands for the host
};
SshTrouble ssh_trouble(std::string_view said);

}  // namespace toprun::scheduler
