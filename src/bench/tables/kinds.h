#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// The kind of a row, besides collective and size: type, operation and root.

// The parts of the kind that tables must show, because several values occur.
struct Kinds {
  bool type = false;
  bool redop = false;
  bool root = false;
};
Kinds kinds_in(std::span<const Series> series);

// Whether both are of the same kind; unknown values match any value.
bool is_same_kind(const Row& a, const Row& b);
bool may_be_same_kind(Collective collective, const Row& a, const Row& b);

// "float max, root 0": the parts that must be shown; empty: none.
std::string kind_text(const Row& row, const Kinds& kinds);

// The columns of a table for people, with two blanks before each: the names and a row's values.
std::string kind_heading(const Kinds& kinds);
std::string kind_columns(const Row& row, const Kinds& kinds);
std::string kind_blanks(const Kinds& kinds);  // below a heading

// One series for each kind that occurs in it, with the kind's text in `source`; rows keep their
// order.
std::vector<Series> by_kind(const Series& series, const Kinds& kinds);

}  // namespace toprun::bench
