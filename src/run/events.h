#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/link.h"
#include "rendezvous/run_messages.h"
#include "run/arrangement.h"
#include "view/report.h"

namespace toprun::run {

// When something happened.
struct Moment {
  SteadyTime steady{};
  WallTime wall{};
};

// What happens to the root.

// An agent that was admitted has its link.
struct Came {
  std::string agent;
  std::string address;      // of it, as this host sees it; empty: the root's own process
  std::string our_address;  // by which it reached this host; empty: unknown
};

struct Said {
  std::string agent;
  rendezvous::ToRoot message;
};

// A link has ended; no loss: in good order, after we had closed it.
struct Left {
  std::string agent;
  std::optional<rendezvous::Loss> loss;
};

// The answer to Arrange.
struct Arranged {
  int attempt = 0;
  Result<Arrangement> arrangement;
  std::vector<std::string> warnings;  // of the comparison of nodes
};

// The engine has no process of the run on that node any more.
struct NodeEnded {
  std::string node;
};

// The answer to AskEngine: why it ended the run, if it did.
struct EngineTold {
  struct Stop {
    view::CauseKind kind;  // preempted or time_limit
    int exit_code;
    std::string words;
  };
  std::optional<Stop> stop;
};

// The answer to TellEnd.
struct EndTold {
  std::string summary;  // the run's last line
};

using Event = std::variant<Came, Said, Left, Arranged, NodeEnded, EngineTold, EndTold>;

// What the root's driver has to do.

struct Send {
  std::string agent;
  rendezvous::ToNode message;
};

// Close the link after what was sent.
struct Close {
  std::string agent;
};

// A line for the user.
struct Say {
  std::string text;
};

// Find where the members sit, and an order for them.
struct Arrange {
  int attempt = 0;
  std::vector<rendezvous::Join> members;
  std::vector<std::string> before;  // the nodes of the attempt before, in their order
};

// Show what another node's workers printed; Taken is to go back for it.
struct Show {
  std::string agent;
  std::string host;
  rendezvous::OutputLines output;
};

// Print the report of an attempt that has failed.
struct TellFailure {
  int attempt = 0;
};

// Write the record of the run so far.
struct KeepRecord {};

// Ask the engine why it ended the run.
struct AskEngine {};

// The run is over: tell the user, write the record.
struct TellEnd {};

// No node waits for anything any more.
struct Over {};

using Action = std::variant<Send, Close, Say, Arrange, Show, TellFailure, KeepRecord, AskEngine,
                            TellEnd, Over>;

}  // namespace toprun::run
