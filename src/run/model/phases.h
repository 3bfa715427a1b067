#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace toprun::model {

// How long it took from the attempt's start to the end of each phase; unset: not reached.
struct Phases {
  std::optional<std::chrono::milliseconds> join;
  std::optional<std::chrono::milliseconds> order;
  std::optional<std::chrono::milliseconds> stage;
  std::optional<std::chrono::milliseconds> spawn;
  std::optional<std::chrono::milliseconds> import;
  std::optional<std::chrono::milliseconds> first_connect;
  std::optional<std::chrono::milliseconds> last_connect;
  std::optional<std::chrono::milliseconds> first_collective;
};

// One phase; phases_by_name() lists the phases in the order of their ends.
struct NamedPhase {
  const char* name;  // in JSON and in metrics
  std::optional<std::chrono::milliseconds> Phases::*time;
  std::string_view words;  // for users; empty: the next phase ends at the same time
};
std::span<const NamedPhase> phases_by_name();
// Returns a text, "nodes joined 143 ms", for each phase that has ended and has words.
std::vector<std::string> times_texts(const Phases& phases);

// How long a phase took on each of many nodes or ranks.
struct Spread {
  std::size_t counted = 0;
  std::chrono::milliseconds median{0};
  std::chrono::milliseconds slowest{0};
  std::optional<int> rank = {};  // the slowest rank; unset: the slowest is a node, or the rank is
                                 // unknown
  std::string node = {};         // the node of the slowest; empty: unknown
};

// How long a phase took on one node or rank.
struct Share {
  std::chrono::milliseconds took{0};
  std::optional<int> rank = {};
  std::string_view node = {};
};
// Computes the spread of `shares`; nullopt if there are none. Of equally slow shares, the first
// counts as the slowest.
std::optional<Spread> spread_of(std::span<const Share> shares);

// How long each phase took on the nodes or ranks. Unset: the phase was not reached, or one process
// does the phase's work for all nodes.
struct Spreads {
  std::optional<Spread> join = {};              // of nodes, from the attempt's start
  std::optional<Spread> stage = {};             // of nodes, until they had copied the environment
  std::optional<Spread> warm = {};              // of nodes, for the imports of their warm parents
  std::optional<Spread> prefetch = {};          // of nodes, for reading the files that ranks import
  std::optional<Spread> spawn = {};             // of nodes, from the command to start their ranks
                                                // until the ranks run
  std::optional<Spread> import = {};            // of ranks, from their start until they reached the
                                                // store
  std::optional<Spread> first_collective = {};  // of ranks, from the store to their first
                                                // collective
};

// The ranks for which others wait: they have not reached the store, or their first collective.
struct Awaited {
  bool at_store = true;       // true: the ranks have to reach the store; false: their first
                              // collective
  std::size_t arrived = 0;    // number of ranks that have arrived there
  std::size_t of = 0;         // number of all ranks
  std::optional<int> rank{};  // the first rank that has not arrived; unset: unknown
  std::string node{};         // the node of this rank; empty: unknown
};

// phases_json() and slowest_json() return objects with the phases' names as keys. An unset phase is
// null.
nlohmann::json phases_json(const Phases& phases);
nlohmann::json slowest_json(const Spreads& spreads);
nlohmann::json awaited_json(const std::optional<Awaited>& awaited);  // null if unset
// Parse the output of the three functions above. Missing or malformed values stay unset.
Phases phases_in(const nlohmann::json& phases);
Spreads spreads_in(const nlohmann::json& slowest);
std::optional<Awaited> awaited_in(const nlohmann::json& object);

// Returns a line for each phase that is set, "rank 17 on n5 took 41.0 s to import (median 3.0 s)".
// A single node gets no line, because there is nothing to compare it with.
std::vector<std::string> slowest_lines(const Spreads& spreads);
// Returns "62 of 64 ranks have reached the store, not rank 17 on n5 and 1 other".
std::string awaited_text(const Awaited& awaited);

// The progress of a launch, for the one status line on a terminal.
struct Launch {
  enum class Step {
    join,     // the members join
    order,    // the members get their node ranks
    prepare,  // the members copy the environment, start containers and warm parents
    start,    // the members start their ranks
    meet,     // the ranks connect to the store and enter their first collective
  };
  Step step = Step::join;
  int attempt = 0;
  std::chrono::milliseconds elapsed{0};   // time since the attempt began
  std::size_t ready = 0;                  // members that have finished the step
  std::size_t total = 0;                  // all members
  std::vector<std::string> missing = {};  // members that have not finished the step; empty: unknown
  bool counts_ranks = false;              // each member is a rank
  // The remaining fields count ranks.
  std::size_t ranks = 0;
  std::size_t joined = 0;               // ranks that have connected to the store, if the store is
                                        // in this process
  std::size_t met = 0;                  // ranks that have entered their first collective
  std::optional<Awaited> awaited = {};  // the latest report from the store's node
};

}  // namespace toprun::model
