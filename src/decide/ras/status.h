#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::ras {

// What NCCL's RAS subsystem tells of a job, all nodes' ranks together (NCCL user guide, "RAS";
// src/decide/ras/client_support.cc; its JSON since 2.28.7). The text protocol knows no user, so an
// answer may come from any process: it is data to be checked, never more.

struct Rank {
  int rank = 0;  // in its communicator
  int pid = 0;   // in its own PID namespace
  int async_error = 0;
  std::map<std::string, std::uint64_t> counts;  // calls by the operation's name
};

struct Missing {
  int rank = 0;
  bool is_dead = false;  // else its thread does not answer
};

struct Communicator {
  std::string hash;
  int size = 0;
  std::vector<Rank> ranks;
  std::vector<Missing> missing;
};

struct Status {
  std::string nccl;  // its version
  std::vector<Communicator> communicators;
};

inline constexpr std::size_t most_answer_bytes = 64u << 20;
inline constexpr int most_depth = 16;
inline constexpr int most_ranks = 1'000'000;
inline constexpr std::size_t longest_name = 64;

// The commands that ask for it, in one go; NCCL waits for its own peers as many seconds.
inline constexpr std::string_view question =
    "CLIENT PROTOCOL 2\nTIMEOUT 2\nSET FORMAT json\nVERBOSE STATUS\n";

// The whole answer to `question`: one line for each command but the last, then the JSON. Unknown
// members are ignored; what has another shape, or is cut off, is refused.
Result<Status> parse_answer(std::string_view answer);

// One thing about a communicator that is not as it should be.
struct Finding {
  enum class Kind {
    dead,     // `ranks` count as dead
    missing,  // … do not answer
    failed,   // … have an error
    behind,   // … have called an operation less often than the others
  };
  Kind kind = Kind::behind;
  std::string communicator;
  int size = 0;
  std::vector<int> ranks;  // in the communicator, ascending; at most most_named
  std::size_t count = 0;   // of all such ranks
  std::string text;        // one line, without the ranks: "have called AllReduce 4 times, …"

  bool operator==(const Finding&) const = default;
};
inline constexpr std::size_t most_findings = 6;
inline constexpr std::size_t most_named = 64;
inline constexpr std::size_t longest_text = 160;

// The most telling first, at most most_findings.
std::vector<Finding> judge(const Status& status);
std::string_view name_of(Finding::Kind kind);  // in JSON and on the wire
// False if no name fits.
bool read_kind(std::string_view name, Finding::Kind& kind);

}  // namespace toprun::ras
