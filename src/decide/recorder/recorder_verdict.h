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
    mismatch,      // `ranks` called another operation than `others` at the same sequence number
    behind,        // `ranks` never made the call in which `others` wait
    silent,        // `ranks` belong to the group, but have no dump; `others` may wait for them
    not_finished,  // all have made the call, but it has not ended on `ranks`, because of the
                   // network or a GPU
    held,          // `ranks` have not made the call, because they wait in another call themselves
    left,          // `ranks` have not made a call that ended on `others`, which is impossible
    unclear,       // `ranks` wait, or perhaps have not made the call: `note` says which facts are
                   // missing
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

// The findings of all groups. Findings that explain the hang come before their consequences.
std::vector<Finding> judge(const Summary& summary);

// One line, without the group.
std::string text_of(const Finding& finding);
// "dp (group 4)", "default_pg".
std::string label_of(const std::string& group, const std::string& description);
std::string_view name_of(Finding::Kind kind);  // in JSON

// Some dumps do not list the members of a group. A rank of such a dump is assigned to the group
// with the same name in other dumps, if exactly one such group contains the rank.
Summary attributed(Summary summary);

}  // namespace toprun::recorder
