#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::hosts {

inline constexpr std::size_t max_host_file_bytes = 4u << 20;
inline constexpr std::size_t max_host_line_bytes = 4096;
inline constexpr std::size_t max_named_hosts = 4096;  // each host needs three descriptors in the
                                                      // launcher
inline constexpr int max_host_slots = 100'000;

// A host that the user named, and its destination for ssh.
struct NamedHost {
  std::string name;
  std::string login;  // "user@name", or the same as `name`
  std::optional<int> slots;
};

struct NamedHosts {
  std::vector<NamedHost> hosts;    // each host once, in the given order
  std::vector<std::string> notes;  // one line for each ignored word
};

// Parses --hosts. The text has one of two forms:
//   - Slurm's host lists. A list may end in `:N` if each of its hosts runs N processes, as in
//     "a,b[3-9]:4,user@c". For an IPv6 address, `:N` is allowed only after brackets:
//     "[fd00::1]:4".
//   - The values of LSF's variables, separated by blanks: "a 4 b 4" (LSB_MCPU_HOSTS) or "a a b b"
//     (LSB_HOSTS).
Result<std::vector<NamedHost>> parse_hosts(std::string_view text, std::string_view source);

// Parses --hostfile, line by line. A line has one of these forms: Open MPI's "host slots=N
// max_slots=M" (mpirun(1)), DeepSpeed's "host slots=N", "host:N", "host N", or only a host. Each
// form may contain host lists and user@; "#" begins a comment. Other words in a line are ignored,
// and NamedHosts::notes contains a line about each of them. If all lines contain only a host and a
// host is repeated, each line stands for one process (PBS_NODEFILE, LSB_DJOB_HOSTFILE). A file in
// Open MPI's rankfile format is an error, and the message names this format. Errors name file:line.
Result<NamedHosts> parse_host_file(std::string_view text, std::string_view path);

}  // namespace toprun::hosts
