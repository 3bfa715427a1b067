#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/error.h"
#include "pairs/second_pass.h"

namespace toprun::pairs {

// What rounds are measured for.
enum class Pass { all, all_again, suspects };

// Measures rounds one after another; a result's `round` is an index in them.
using Measure = std::function<Result<std::vector<Measured>>(std::vector<Round> rounds, Pass pass)>;

struct Found {
  std::vector<Measured> measured;  // every pair, with its best figures
  Confirmed confirmed;
};

// Measures every two nodes, those of what looks slow again, and then the suspects beside good ones.
// What is broken is slow each time and what was busy is not, so of repeats the better figures
// count.
//
// It calls `measure` equally often whatever that answers: nodes that only play along, whose results
// come to another, search nothing and stay in step. Errors: those of `measure` and of judge().
Result<Found> search(const Cluster& cluster, std::size_t most_rounds, const Measure& measure);

}  // namespace toprun::pairs
