#pragma once

#include <memory>

#include "engines/queue.h"
#include "engines/runai/command_lines.h"

namespace toprun::engines {

// Returns the queue of one project's PyTorch jobs in Run:AI, read with runai. The project is
// TOPRUN_PROJECT, else the project that is selected in runai. nullptr: runai is not in PATH.
Result<std::unique_ptr<Queue>> runai_queue(const Environment& environment);

namespace runai {

// Returns the version of the runai in PATH, and the selected Run:AI project. Runs runai unless
// TOPRUN_RUNAI_CLI (v1, v2) sets the version. Error: runai does not answer.
Result<Client> find_client(const Environment& environment, std::chrono::milliseconds limit);

// Reads from runai's help which flags its `submit` has. The flags of v1 are known without runai's
// help. If runai's help cannot be read, the flags of the newest version are assumed.
void ask_flags(Client& client, const Environment& environment, std::chrono::milliseconds limit);

// Submits the job with runai. Blocks for at most `limit`. Error: runai is missing, does not answer
// in time, or refuses (its message).
Result<void> submit(const Words& command, const Environment& environment,
                    std::chrono::milliseconds limit);

}  // namespace runai
}  // namespace toprun::engines
