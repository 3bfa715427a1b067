#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"

// The plaintext lines that two agents exchange before they share keys, one in each direction:
//
//   toprun/1 VERSION ROLE JOB AGENT RANDOM PROOF\n        at most max_line_bytes
//
// VERSION is the sender's version (0.1.0), JOB is job_hash() of the job's name, AGENT is 14 hex
// digits that identify the process, RANDOM is 64 hex digits, new for each connection. PROOF names
// the source of the sender's secret: "secret", "derived", or "munge:CREDENTIAL" (root) and "munge"
// (member). The session keys depend on both whole lines, so a change in one of them is detected.
//
// The member's first frame follows. A root that can decrypt the member's first frame answers
// "toprun/1 agreed\n" and sends its welcome or its refusal in a frame. Only a frame, which needs
// the session keys, proves that its sender is the job's root. Any process can send
//
//   toprun/1 refused CODE VERSION\n
//
// A member receives this line at a wrong port, or if the member's secret differs from the root's.
namespace toprun::link {

inline constexpr std::string_view magic = "toprun/";
inline constexpr std::string_view protocol = "toprun/1";
inline constexpr std::size_t max_line_bytes = 1024;
inline constexpr std::size_t max_version_bytes = 32;

enum class Role {
  root,    // answers joins
  member,  // wants to join
  agent,   // an agent other than the root, answering a probe
  probe,   // only asks which process listens on the port
  stage,   // wants a copy of the environment (node/prepare/stage/wire.h)
};

struct Preamble {
  std::string version;
  Role role = Role::member;
  std::string job;
  std::string agent;
  std::string random;
  std::string proof;

  std::string line() const;  // includes the newline
  // Parses a line without its newline. Nullopt if the line is malformed.
  static std::optional<Preamble> parse(std::string_view line);
};

// Why an agent rejects a connection.
enum class Turned { version, job, secret, not_root, busy };

inline constexpr std::string_view agreed_line = "toprun/1 agreed\n";

// The plaintext line with which an agent refuses a connection. The line does not prove which agent
// sent it.
struct TurnedAway {
  Turned why;
  std::string version;       // the version of the agent that answers
  std::string line() const;  // includes the newline
  static std::optional<TurnedAway> parse(std::string_view line);
};

// Returns random bytes from the system's random source, as 2·bytes hex digits.
std::string random_hex(std::size_t bytes);

// The size of an agent's id. In hex, it has 14 characters, and a std::string stores up to 15
// without an allocation. The root copies and looks up agent ids several times per message.
inline constexpr std::size_t agent_id_bytes = 7;
static_assert(2 * agent_id_bytes <= 15);

// Returns the id of a new agent: unique within its job, 2·agent_id_bytes hex digits.
std::string new_agent_id();

// Returns a BLAKE2b hash of a text as 32 hex digits.
std::string content_hash(std::string_view text);

// Returns the hash of the job's name that identifies the job in messages. The name itself would
// reveal a derived secret.
std::string job_hash(std::string_view job);

}  // namespace toprun::link
