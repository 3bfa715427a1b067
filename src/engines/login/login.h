#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace toprun::engines {

// The user names the hosts (--hosts, --hostfile), or a job whose pods sleep (--in); each of them
// gets an agent by a login of its own: ssh, or the engine's `exec` into a pod. The launcher is a
// starter that stays, because every agent lives only as long as its connection.
//
//   | given                                    | stance  | engine        |
//   |------------------------------------------|---------|---------------|
//   | what the launcher told this agent        | agent   | the launcher's |
//   | hosts                                    | starter | ssh           |
//   | pods                                     | starter | exec          |
class LoginEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::ssh; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

// What the launcher tells one agent of its place; detect() reads it back.
struct LoginPlace {
  std::string job;
  std::vector<Node> nodes;
  int node = 0;  // which of them the agent is on
  int root = 0;  // … and the root agent
  std::string root_address;
  EngineKind engine = EngineKind::ssh;  // ssh or exec
  bool stays = false;                   // without its launcher, which tells it nothing more
};
std::map<std::string, std::string> variables_of(const LoginPlace& place);
bool is_login_agent(const Environment& environment);

// In the environment of an agent that waits for its orders on standard input.
inline constexpr const char* login_step_variable = "TOPRUN_STEP";
inline constexpr const char* login_step = "login";

// What identifies the agent's program among others in the hosts' caches.
struct Binary {
  std::string id;  // hex digits, at least 16
  std::size_t bytes = 0;
};

// What a POSIX sh is to run there: the cached program if it is there, else it asks for it on
// stdout, reads it from stdin and keeps it. It writes lines that begin with `login_mark`, then
// becomes the agent:
//
//   need                        send so many bytes on stdin
//   run CLIENT PORT SERVER PORT PATH   the program starts now ($SSH_CONNECTION, dashes if unset)
//   refused WHY                 there is no place for the program, one reason per folder
//
// The folders are $XDG_CACHE_HOME/toprun (else ~/.cache/toprun), then toprun-USER below /var/tmp,
// /dev/shm and /tmp; one that is not this user's own is passed over. The text contains no single
// quote, backslash, exclamation mark or line end.
std::string login_script(const Binary& binary);
inline constexpr std::string_view login_mark = "toprun-login ";
// … and the agent's own: before it reads its orders; on stderr, once nothing more keeps it from
// joining; and at its end, because the exit code of ssh or kubectl may be their own.
std::string login_up(std::string_view address);  // "toprun-login up 10.1.0.5\n", or without one
inline constexpr std::string_view login_joins = "toprun-login joins\n";
// … in its place from an agent that goes on without its login, before that ends with 0.
inline constexpr std::string_view login_kept = "toprun-login kept\n";
std::string login_ended(int exit_code);  // "toprun-login ended with 7\n"
// The exit code in a line of login_ended(), which is cut off the text with all that follows: that
// is the login program's own. nullopt: there is none.
std::optional<int> take_login_end(std::string& text);

// Why a login failed.
struct LoginTrouble {
  std::string why;
  std::string fix;  // HOST stands for the host
};

// What a login program's words mean.
struct KnownTrouble {
  std::string_view words;  // in lower case
  std::string_view why;    // empty: the program's own line
  std::string_view fix;
};

}  // namespace toprun::engines
