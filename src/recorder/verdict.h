#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/dump.h"
#include "recorder/summary.h"

namespace toprun::recorder {

// What the dumps of a hung job's ranks say of one process group.
struct Finding {
  enum class Kind {
    silent,        // `ranks` belong to the group and have given no dump
    mismatch,      // `ranks` called something else than the others at the same sequence number
    behind,        // `ranks` never called the collective that others wait in
    not_finished,  // all have called it, and it has not ended on `ranks`: network or GPU
  };
  enum class Difference { none, operation, sizes, types };

  Kind kind = Kind::behind;
  std::string group;
  std::int64_t sequence = 0;
  std::string operation = {};  // of the most; empty: the recorders have forgotten it
  std::vector<int> ranks = {};
  Difference difference = Difference::none;
  std::string expected = {},
              got = {};  // of a mismatch: what most gave, what the first of `ranks` gave

  bool operator==(const Finding&) const = default;
};

// The findings of all groups, mismatches and who is behind before what follows from them.
std::vector<Finding> judge(const Summary& summary);
// … and who is silent.
std::vector<Finding> judge(const std::map<int, Dump>& dumps);

// In one line; `ranks`: the finding's, as text.
std::string text_of(const Finding& finding, const std::string& ranks);
std::string_view name_of(Finding::Kind kind);  // in JSON

}  // namespace toprun::recorder
