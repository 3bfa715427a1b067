#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::hosts {

inline constexpr std::size_t max_host_file_bytes = 4u << 20;
inline constexpr std::size_t max_host_line_bytes = 4096;
inline constexpr std::size_t max_named_hosts = 4096;  // each costs the launcher three descriptors
inline constexpr int max_host_slots = 100'000;

// A host that the user named, and its login.
struct NamedHost {
  std::string name;
  std::string login;  // "user@name", or as the name
  std::optional<int> slots;
};

struct NamedHosts {
  std::vector<NamedHost> hosts;    // each once, in the order given
  std::vector<std::string> notes;  // one line for each ignored word
};

// --hosts: Slurm's host lists, each optionally followed by `:N` if its hosts run N processes, as in
// "a,b[3-9]:4,user@c". An IPv6 address takes a number only behind brackets: "[fd00::1]:4". Or what
// LSF's variables have between blanks: "a 4 b 4" (LSB_MCPU_HOSTS), "a a b b" (LSB_HOSTS).
Result<std::vector<NamedHost>> parse_hosts(std::string_view text, std::string_view source);

// --hostfile, by line: Open MPI's "host slots=N max_slots=M" (mpirun(1)), DeepSpeed's "host
// slots=N", "host:N", "host N", or only a host; host lists and user@ in each, "#" begins a comment.
// Words that are none of these are noted. A file of hosts alone in which one is repeated has a line
// for each process (PBS_NODEFILE, LSB_DJOB_HOSTFILE). A rankfile is an error that says so. Errors
// name file:line.
Result<NamedHosts> parse_host_file(std::string_view text, std::string_view path);

}  // namespace toprun::hosts
