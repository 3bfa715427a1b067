#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decide/hang/standing.h"
#include "decide/ras/status.h"
#include "decide/recorder/summary.h"

namespace toprun::hang {

// Evidence about the hang from a source other than the stacks.
struct Evidence {
  enum class Source { flight_recorder, nccl };
  Source source = Source::flight_recorder;
  std::string kind;   // the name of the finding's kind, as in JSON
  std::string group;  // the process group or the communicator
  std::string text;   // one line of text
  std::vector<int> ranks;
};
inline constexpr std::size_t most_evidence = 6;
std::string_view name_of(Evidence::Source source);  // in JSON

// The verdict on a hang: which ranks keep the others waiting. The verdict is based on what the main
// thread of each rank does.
struct Verdict {
  std::vector<Group> groups;            // of all ranks that were sampled, the largest first
  std::vector<int> suspects;            // ascending; empty: no rank differs from the others
  std::string what;                     // one line: which rank does what, and which ranks wait
  std::vector<int> unseen;              // ranks of nodes that did not answer
  std::vector<Evidence> evidence = {};  // at most most_evidence
};

// Returns the node of a rank.
using NodeOf = std::function<std::string(int rank)>;

// Determines which ranks keep the others waiting. `unseen`: ranks on nodes whose agents did not
// answer in time.
Verdict judge(std::vector<Group> groups, std::vector<int> unseen, const NodeOf& node_of);

// Adds to the verdict what PyTorch's flight recorders show. If the stacks show no suspect, the
// recorders name the suspects. With NCCL, the stacks may show no suspect, because NCCL's calls
// return at once.
void add_recorded(Verdict& verdict, const recorder::Summary& recorded);
// Adds to the verdict what NCCL reports about its communicators.
void add_reported_by_nccl(Verdict& verdict, const std::vector<ras::Finding>& findings);

// Returns the nodes of the suspects, each once, in natural order.
std::vector<std::string> suspected_nodes(const Verdict& verdict, const NodeOf& node_of);

// Returns what the user can do next; empty: no advice.
std::string next_of(const Verdict& verdict);

// The maximum number of lines in a verdict. A verdict shows only the suspects' stacks.
inline constexpr std::size_t most_lines = 25;
enum class Shown {
  verdict,
  all_stacks,  // the stacks of all groups, without the suspected nodes
};
// Returns the verdict as lines for users. They list the groups with their stacks, each in at least
// one line, and the suspects' nodes. A verdict has at most most_lines lines for any number of
// ranks, including its first line and one line of advice.
std::vector<std::string> lines_of(const Verdict& verdict, const NodeOf& node_of,
                                  Shown shown = Shown::verdict);

}  // namespace toprun::hang
