#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

// What two agents say to each other in clear before they share keys. One line each way:
//
//   toprun/1 VERSION ROLE JOB AGENT RANDOM PROOF\n        at most max_line_bytes
//
// VERSION is ours (0.1.0), JOB is the job's name as job_hash() gives it, AGENT is 16 hex digits
// that name the process, RANDOM is 64 hex digits, fresh for each connection. PROOF says where the
// secret comes from: "secret", "derived", or "munge:CREDENTIAL" (root) and "munge" (member). Both
// whole lines go into the session keys, so that neither can be altered unnoticed.
//
// The member's first frame follows. A root that can read it answers "toprun/1 agreed\n" and, in a
// frame of its own, its welcome or its refusal. Only what stands in a frame proves to come from the
// job's root; anybody at all can say
//
//   toprun/1 refused CODE VERSION\n
//
// which is what a member hears that is at the wrong port or has another secret.
namespace toprun::rendezvous {

inline constexpr std::string_view magic = "toprun/";
inline constexpr std::string_view protocol = "toprun/1";
inline constexpr std::size_t max_line_bytes = 1024;
inline constexpr std::size_t max_version_bytes = 32;

enum class Role {
  root,    // answers joins
  member,  // wants to join
  agent,   // an agent that is not the root, answering a probe
  probe,   // only wants to know who listens here
};

struct Preamble {
  std::string version;
  Role role = Role::member;
  std::string job;
  std::string agent;
  std::string random;
  std::string proof;

  std::string line() const;  // with the final newline
  // The line without its newline. Nullopt: not of this form.
  static std::optional<Preamble> parse(std::string_view line);
};

// Why an agent does not answer in the way that is wished for.
enum class Turned { version, job, secret, not_root, busy };

inline constexpr std::string_view agreed_line = "toprun/1 agreed\n";

// Said in clear, so it proves nothing.
struct TurnedAway {
  Turned why;
  std::string version;       // of the agent that answers
  std::string line() const;  // with the final newline
  static std::optional<TurnedAway> parse(std::string_view line);
};

// 2·bytes hex digits from the system's random source.
std::string random_hex(std::size_t bytes);

// 32 hex digits that stand for a text (BLAKE2b).
std::string content_hash(std::string_view text);

// What tells jobs apart on the wire. Not the name itself: a derived secret follows from that.
std::string job_hash(std::string_view job);

}  // namespace toprun::rendezvous
