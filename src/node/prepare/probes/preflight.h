#pragma once

#include <string>
#include <vector>

#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

inline constexpr std::size_t most_preflight_warnings = 8;
// Scripts larger than this are compared only by their size.
inline constexpr std::size_t longest_hashed_script_bytes = 4u << 20;

// This host's resources for the run, from a few files and system calls. The function starts no
// program, reads only regular files (a script may be a pipe) and takes much less than 5 ms.
model::Evidence examine(const plan::Job& job);

// Problems that will soon make ranks fail or compute wrong results. Each line says where the
// problem is, what it is and how to fix it. Agents without evidence (--no-preflight) are skipped;
// unknown facts cause no warning.
std::vector<std::string> preflight_warnings(const std::vector<model::Join>& members);

}  // namespace toprun::probes
