#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decide/recorder/dump.h"
#include "decide/recorder/summary.h"

namespace toprun::recorder {

// A conclusion about one process group from the dumps of a hung job's ranks.
struct Finding {
  enum class Kind {
    mismatch,  // at one sequence number, the calls of `ranks` and `others` differ
    behind,    // `ranks` never made the call in which `others` wait
    silent,    // `ranks` belong to the group, but have no dump; `others` may wait for them
    // All ranks have made the call, but it has not ended on `ranks`. The cause is the network or a
    // GPU.
    not_finished,
    held,  // `ranks` wait in another call themselves (`note`), so they are not the cause
    // `ranks` never made a call that `others` made and that has already ended there. Perhaps the
    // call failed on `others`, or the dumps are of different moments.
    left,
    // The dumps do not show the cause. If `others` wait in the call, it is unknown whether `ranks`
    // have made it. If `others` is empty, `note` says what the dumps of `ranks` do not show.
    unclear,
  };
  enum class Difference { none, operation, sizes, types };

  Kind kind = Kind::behind;
  std::string group = {}, description = {};
  std::vector<Run> members = {};  // empty: the dumps do not list the members
  std::int64_t sequence = 0;      // 0: the finding is about a send or receive, or not about a call
  std::string operation = {};     // what most ranks called; empty: the recorders no longer have the
                                  // call
  std::vector<int> ranks = {};
  std::vector<int> others = {};
  Difference difference = Difference::none;
  std::string expected = {}, got = {};  // for a mismatch: the arguments of most ranks, and those of
                                        // `ranks`
  std::string note = {};                // for people: the reason, or other facts
  bool blames = false;                  // `ranks` cause the hang, as far as dumps can show

  bool operator==(const Finding&) const = default;
};

// Returns the findings of all groups. Findings that explain the hang come before their
// consequences.
std::vector<Finding> judge(const Summary& summary);

// Describes the finding in one line, without the group.
std::string text_of(const Finding& finding);
// Returns "dp (group 4)" or "default_pg".
std::string label_of(const std::string& group, const std::string& description);
std::string_view name_of(Finding::Kind kind);  // in JSON

// Finds the group of each rank whose dump does not list the group's members. A rank is assigned to
// the group with the same name in other dumps, if exactly one such group contains the rank.
Summary attributed(Summary summary);

}  // namespace toprun::recorder
