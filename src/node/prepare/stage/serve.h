#pragma once

#include <string>

#include "base/os/fd.h"
#include "node/prepare/stage/share.h"
#include "node/prepare/stage/wire.h"

namespace toprun::stage {

// One connection of another agent that asks for the environment: its socket, over which the
// preambles have gone.
struct Visit {
  Fd socket;
  std::string their_line;  // with the newline
  std::string our_line;
  std::string read_ahead = {};  // what followed their line
};

// Answers until the other end has all that it lacks, goes, or is refused. Blocks.
void serve(Visit visit, Share& share, const Hash& key, const Waits& waits = {});

// What both ends show that they have the key: `asks` is which of them.
Hash proof_of(const Hash& key, std::string_view their_line, std::string_view our_line, bool asks);

}  // namespace toprun::stage
