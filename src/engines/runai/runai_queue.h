#pragma once

#include <memory>

#include "engines/queue.h"
#include "engines/runai/command_lines.h"

namespace toprun::engines {

// Run:AI's PyTorch jobs of one project, TOPRUN_PROJECT or the one that runai has chosen, by runai;
// nullptr: it is not in PATH.
Result<std::unique_ptr<Queue>> runai_queue(const Environment& environment);

namespace runai {

// Which program the runai in PATH is, by asking it unless TOPRUN_RUNAI_CLI (v1, v2) says; and the
// project. Error: it does not answer.
Result<Client> find_client(const Environment& environment, std::chrono::milliseconds limit);

// Which flags this runai has, by its help; v1's are known. What gives no answer has the newest's.
void ask_flags(Client& client, const Environment& environment, std::chrono::milliseconds limit);

// Has runai submit the job. Blocks `limit` at most. Error: no runai, no answer, or its own words.
Result<void> submit(const Words& command, const Environment& environment,
                    std::chrono::milliseconds limit);

}  // namespace runai
}  // namespace toprun::engines
