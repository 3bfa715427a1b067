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
// VERSION is ours (0.1.0), JOB is percent-encoded, AGENT is 16 hex digits that name the process,
// RANDOM is 64 hex digits, fresh for each connection. PROOF says where the secret comes from:
// "secret", "derived", or "munge:CREDENTIAL" (root) and "munge" (member). Both whole lines go into
// the session keys, so that neither can be altered unnoticed.
//
// The root answers a member's join with one line more, also in clear, so that a refusal can be read
// by whoever does not have the secret:
//
//   toprun/1 welcome\n    or    toprun/1 refused CODE TEXT\n
namespace toprun::rendezvous {

inline constexpr std::string_view magic = "toprun/";
inline constexpr std::string_view protocol = "toprun/1";
inline constexpr std::size_t max_line_bytes = 512;
inline constexpr std::size_t max_job_bytes = 100;  // longer job names are replaced by their hash

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

// Why the root does not take a member. On the wire by name: version, secret, job, attempt,
// rank-taken, full, not-root.
enum class Refusal { version, secret, job, attempt, rank_taken, full, not_root };

std::string refusal_line(Refusal code, std::string_view text);  // with the final newline
inline constexpr std::string_view welcome_line = "toprun/1 welcome\n";

struct Refused {
  Refusal code;
  std::string text;
};
std::optional<Refused> parse_refusal(std::string_view line);

// 2·bytes hex digits from the system's random source.
std::string random_hex(std::size_t bytes);

// 32 hex digits that stand for a text (BLAKE2b).
std::string content_hash(std::string_view text);

// `job` as it stands in a preamble: percent-encoded, or "hash-…" if that is too long.
std::string wire_job(std::string_view job);

}  // namespace toprun::rendezvous
