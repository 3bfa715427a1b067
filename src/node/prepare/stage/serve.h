#pragma once

#include <string>

#include "base/os/fd.h"
#include "node/prepare/stage/share.h"
#include "node/prepare/stage/wire.h"

namespace toprun::stage {

// A connection from another agent that asks for the environment. The preambles have already been
// exchanged over its socket.
struct Visit {
  Fd socket;
  std::string their_line;  // includes the newline
  std::string our_line;
  std::string read_ahead = {};  // bytes already received after their line
};

// Answers until the other end has all data, disconnects, or is refused. Blocks.
void serve(Visit visit, Share& share, const Hash& key, const Waits& waits = {});

// The hash with which an end proves that it has the key. `asks`: true for the end that asks.
Hash proof_of(const Hash& key, std::string_view their_line, std::string_view our_line, bool asks);

}  // namespace toprun::stage
