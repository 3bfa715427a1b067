#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "run/model/messages.h"
#include "run/model/record.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// Every member's assignment, which the root's driver computes for the action Arrange. The
// assignments do not contain the store's address.
struct Arrangement {
  std::vector<model::Assignment> parts;  // one per member, in the members' order
  std::vector<std::size_t> nodes;        // the first member of each node, by group rank
  std::size_t store_host = 0;            // the member that gets rank 0
  model::OrderRecord order;
};

// The time of an event, on the steady clock and on the wall clock.
struct Moment {
  SteadyTime steady{};
  WallTime wall{};
};

// Events at the root.

// The network connection (link) to an agent that the root has admitted is open.
struct Came {
  std::string agent;
  std::string address;      // the agent's address as this host sees it; empty: the root's own
                            // process
  std::string our_address;  // address at which the first agent reached this host; empty: unknown
};

struct Said {
  std::string agent;
  model::ToRoot message;
};

// A link has ended. Unset `loss`: the link closed properly after Close.
struct Left {
  std::string agent;
  std::optional<model::Loss> loss;
};

// The answer to Arrange.
struct Arranged {
  int attempt = 0;
  Result<Arrangement> arrangement;
  std::vector<std::string> warnings;  // from the comparison of the nodes
  // Indexes of the members in Arrange that wait as spares, ascending. The arrangement contains only
  // the members that are not spares.
  std::vector<std::size_t> spares = {};
};

// The engine (such as Slurm) reports that the run's processes on this node have ended.
struct NodeEnded {
  std::string node;
};

// The reply to the action AskEngine: why the engine ended the run, if it did.
struct EngineAnswered {
  struct Stop {
    model::CauseKind kind;  // preempted, requeued or time_limit
    int exit_code;
    std::string words;
  };
  std::optional<Stop> stop;
};

// The answer to TellEnd.
struct EndReported {
  std::string summary;  // the run's last line
};

// A process, such as `toprun stacks`, asks where the ranks are in their code. The reply is the
// action TellPlaces.
struct PlacesAsked {
  int question = 0;
};

using Event =
    std::variant<Came, Said, Left, Arranged, NodeEnded, EngineAnswered, EndReported, PlacesAsked>;

// Actions for the root's driver.

struct Send {
  std::string agent;
  model::ToNode message;
};

// Close the link after sending the queued messages.
struct Close {
  std::string agent;
};

// Show a line to the user.
struct Say {
  std::string text;
};

// Find out the members' locations in the network, choose the members that take part, and compute
// their order.
struct Arrange {
  int attempt = 0;
  std::vector<model::Join> members = {};
  std::size_t seats = 0;                 // the number of members that take part
  std::size_t staying = 0;               // the first `staying` of `members` always take part
  std::vector<std::string> before = {};  // the nodes of the previous attempt, in their order
};

// Show the output of another node's workers; the answer is Taken.
struct Show {
  std::string agent;
  std::string host;
  model::OutputLines output;
};

// Report the current attempt's hang to the user.
struct TellHang {};

// Answer PlacesAsked.
struct TellPlaces {
  std::vector<int> questions;
  model::Places places;
};

// Print the message that says why an attempt has failed.
struct TellFailure {
  int attempt = 0;
};

// Write the record of the run up to now.
struct KeepRecord {};

// Ask the engine (such as Slurm) whether and why it ended the run.
struct AskEngine {};

// The run is over: report the end to the user and write the record.
struct TellEnd {};

// The coordinator has finished.
struct Over {};

using Action = std::variant<Send, Close, Say, Arrange, Show, TellHang, TellPlaces, TellFailure,
                            KeepRecord, AskEngine, TellEnd, Over>;

}  // namespace toprun::run
