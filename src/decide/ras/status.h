#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::ras {

// The status of a job from NCCL's RAS subsystem, for the ranks on all nodes. Sources: NCCL user
// guide, "RAS"; NCCL's src/ras/client_support.cc. NCCL answers in JSON since 2.28.7. The text
// protocol does not authenticate the server. So any process may have sent an answer, and the answer
// is untrusted data.

struct Rank {
  int rank = 0;  // in its communicator
  int pid = 0;   // in the PID namespace of the rank
  int async_error = 0;
  std::map<std::string, std::uint64_t> counts;  // number of calls by operation name
};

struct Missing {
  int rank = 0;
  bool is_dead = false;  // true: the rank is dead; false: the rank's thread does not answer
};

struct Communicator {
  std::string hash;
  int size = 0;
  std::vector<Rank> ranks;
  std::vector<Missing> missing;
};

struct Status {
  std::string nccl;  // the version of NCCL
  std::vector<Communicator> communicators;
};

inline constexpr std::size_t most_answer_bytes = 64u << 20;
inline constexpr int most_depth = 16;
inline constexpr int most_ranks = 1'000'000;
inline constexpr std::size_t longest_name = 64;

// The commands to NCCL's RAS server that request the status, sent in one message. TIMEOUT is the
// number of seconds for which the server waits for answers from the job's other processes.
inline constexpr std::string_view question =
    "CLIENT PROTOCOL 2\nTIMEOUT 2\nSET FORMAT json\nVERBOSE STATUS\n";

// Parses the whole answer to `question`. It has one line for each command except the last, then the
// status as JSON. Unknown members are ignored. An answer that has another form or is cut off is an
// error.
Result<Status> parse_answer(std::string_view answer);

// A problem with a communicator.
struct Finding {
  enum class Kind {
    dead,     // NCCL reports `ranks` as dead
    missing,  // `ranks` do not answer
    failed,   // `ranks` have an error
    behind,   // `ranks` have called an operation less often than the others
  };
  Kind kind = Kind::behind;
  std::string communicator;
  int size = 0;
  std::vector<int> ranks;  // in the communicator, ascending; at most most_named
  std::size_t count = 0;   // number of all such ranks
  std::string text;        // one line, without the ranks: "have called AllReduce 4 times, …"

  bool operator==(const Finding&) const = default;
};
inline constexpr std::size_t most_findings = 6;
inline constexpr std::size_t most_named = 64;
inline constexpr std::size_t longest_text = 160;

// Returns the findings, the most important first, at most most_findings.
std::vector<Finding> judge(const Status& status);
std::string_view name_of(Finding::Kind kind);  // in JSON and on the wire
// Sets `kind`. False if `name` is unknown.
bool read_kind(std::string_view name, Finding::Kind& kind);

}  // namespace toprun::ras
