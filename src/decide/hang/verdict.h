#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decide/hang/standing.h"
#include "decide/ras/status.h"
#include "decide/recorder/summary.h"

namespace toprun::hang {

// What something else than the stacks says of the hang.
struct Evidence {
  enum class Source { flight_recorder, nccl };
  Source source = Source::flight_recorder;
  std::string kind;   // the finding's name, in JSON
  std::string group;  // the process group or the communicator
  std::string text;   // one line
  std::vector<int> ranks;
};
inline constexpr std::size_t most_evidence = 6;
std::string_view name_of(Evidence::Source source);  // in JSON

// Who keeps the others waiting, as far as the places of all ranks tell.
struct Verdict {
  std::vector<Group> groups;            // of all ranks that were seen, the largest first
  std::vector<int> suspects;            // ascending; empty: no rank stands out
  std::string what;                     // one line: who does what, and who waits
  std::vector<int> unseen;              // ranks of nodes that did not answer
  std::vector<Evidence> evidence = {};  // at most most_evidence
};

// The node of a rank.
using NodeOf = std::function<std::string(int rank)>;

// `unseen`: of nodes that did not answer in time.
Verdict judge(std::vector<Group> groups, std::vector<int> unseen, const NodeOf& node_of);

// Adds what PyTorch's flight recorders have told. Where no rank stands out by its place, as in
// NCCL's calls, which return at once, the recorders name the suspects.
void add_recorded(Verdict& verdict, const recorder::Summary& recorded);
// … and what NCCL says of its communicators.
void add_told_by_nccl(Verdict& verdict, const std::vector<ras::Finding>& findings);

// The nodes of the suspects, each once, in natural order.
std::vector<std::string> suspected_nodes(const Verdict& verdict, const NodeOf& node_of);

// Of a verdict only the suspects' stacks are shown, …
inline constexpr std::size_t most_lines = 25;
enum class Shown {
  verdict,
  all_stacks,  // or those of all groups, and no suspects
};
// The groups with their places, a line or a few each, and the suspects' nodes. At any number of
// ranks a verdict is most_lines at most, with its first line and an advice.
std::vector<std::string> lines_of(const Verdict& verdict, const NodeOf& node_of,
                                  Shown shown = Shown::verdict);

using recorder::ranks_text;

}  // namespace toprun::hang
