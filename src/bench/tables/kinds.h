#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// The kind of a row is its type, operation and root. Collective and size are not part of the kind.

// The parts of the kind that have different values in a table's rows, so that the table must show
// them.
struct Kinds {
  bool type = false;
  bool redop = false;
  bool root = false;
};
Kinds kinds_in(std::span<const Series> series);

// Whether both rows are of the same kind. In may_be_same_kind(), unknown values match any value.
bool is_same_kind(const Row& a, const Row& b);
bool may_be_same_kind(Collective collective, const Row& a, const Row& b);

// The parts that must be shown, such as "float max, root 0". Empty: no parts must be shown.
std::string kind_text(const Row& row, const Kinds& kinds);

// The heading and one row's values for a human-readable table. Each column begins with two blanks.
std::string kind_heading(const Kinds& kinds);
std::string kind_columns(const Row& row, const Kinds& kinds);
std::string kind_blanks(const Kinds& kinds);  // blanks with the width of kind_heading()

// Splits a series into one series per kind, with the kind's text in `source`. The rows keep their
// order.
std::vector<Series> by_kind(const Series& series, const Kinds& kinds);

}  // namespace toprun::bench
