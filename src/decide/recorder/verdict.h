#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "decide/recorder/dump.h"
#include "decide/recorder/summary.h"

namespace toprun::recorder {

// What the dumps of a hung job's ranks say of one process group.
struct Finding {
  enum class Kind {
    mismatch,      // `ranks` called something else than `others` at the same sequence number
    behind,        // `ranks` never came to the call in which `others` wait
    silent,        // `ranks` belong to the group and have given no dump; `others` may wait for them
    not_finished,  // all have called it, and it has not ended on `ranks`: network or GPU
    held,          // `ranks` have not come to it, because they wait in another call themselves
    left,          // `ranks` have not come to a call that ended on `others`, which cannot be
    unclear,       // `ranks` wait, or may not have come: what is missing is in `note`
  };
  enum class Difference { none, operation, sizes, types };

  Kind kind = Kind::behind;
  std::string group = {}, description = {};
  std::vector<Run> members = {};  // empty: not told
  std::int64_t sequence = 0;      // 0: of a send or receive, or of no call
  std::string operation = {};     // of the most; empty: the recorders have forgotten it
  std::vector<int> ranks = {};
  std::vector<int> others = {};
  Difference difference = Difference::none;
  std::string expected = {}, got = {};  // of a mismatch: what most gave, and `ranks`
  std::string note = {};                // for people: why, or what else is known
  bool blames = false;                  // the hang comes from `ranks`, as far as dumps can tell

  bool operator==(const Finding&) const = default;
};

// The findings of all groups: those that explain the hang before what follows from them.
std::vector<Finding> judge(const Summary& summary);

// In one line, without the group.
std::string text_of(const Finding& finding);
// "dp (group 4)", "default_pg".
std::string label_of(const std::string& group, const std::string& description);
std::string_view name_of(Finding::Kind kind);  // in JSON

}  // namespace toprun::recorder
