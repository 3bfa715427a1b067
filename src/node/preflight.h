#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

inline constexpr std::size_t most_preflight_warnings = 8;
// A script above this is compared by its size only.
inline constexpr std::size_t longest_hashed_script_bytes = 4u << 20;

// What this host offers the run, by a few files and system calls: no program is started and only a
// regular file is read (a script may be a pipe). Takes well below 5 ms.
rendezvous::Evidence examine(const plan::Job& job);

// What will fail soon or compute nonsense, one line each: where, what, what to do. Agents without
// evidence (--no-preflight) are left out; what is unknown is never held against anybody.
std::vector<std::string> preflight_warnings(const std::vector<rendezvous::Join>& members);

}  // namespace toprun::node
