#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::cost {

// The groups of ranks of a job, numbered as in Megatron-Core (initialize_model_parallel and
// RankGenerator in megatron/core/parallel_state.py). The ranks form a grid with one dimension per
// kind of parallelism, and a group is a row in that grid. For expert layers, the same ranks form a
// second grid, with ep and etp instead of cp and tp.
enum class Kind {
  tp,   // tensor: the parts of one layer
  cp,   // context: the parts of one sequence
  ep,   // the experts of one layer
  etp,  // tensor, for expert layers
  dp,   // data; gradients are reduced over dp and cp together, so a group contains the ranks of
        // both
  edp,  // data, for expert layers
  pp,   // pipeline: the stages
};
inline constexpr std::array all_kinds = {Kind::tp, Kind::cp,  Kind::ep, Kind::etp,
                                         Kind::dp, Kind::edp, Kind::pp};

std::string_view name_of(Kind kind);
std::optional<Kind> find_kind(std::string_view name);

// The value of the option --parallel, as the user wrote it.
struct Parallel {
  std::map<Kind, int> sizes;  // ≥ 1; only the given kinds
  std::vector<Kind> order;    // innermost first; from tp, cp, ep, dp and pp; empty: Megatron's
                              // default
};

inline constexpr std::size_t max_parallel_text = 256;  // bytes

// Parses "tp=8,pp=4,dp=16,order=tp-cp-ep-dp-pp". Errors (usage): an unknown kind, a duplicate kind,
// a size that is not a number from 1 to 2³¹−1, an order with a duplicate kind.
Result<Parallel> parse_parallel(std::string_view text);

// The two grids of a job's ranks.
struct Layout {
  int world = 1;
  std::array<int, all_kinds.size()> sizes = {};
  std::vector<Kind> order;  // innermost first; tp, cp, ep, dp and pp, each once

  int size(Kind kind) const { return sizes[static_cast<std::size_t>(kind)]; }
};

// Computes the grids from the value of --parallel and the number of ranks. Missing sizes are 1,
// except that dp takes the remaining ranks and etp equals tp. Kinds of parallelism that the user's
// order lacks are added at its end. Errors (usage), as in Megatron: the product of the sizes is not
// the number of ranks; the order lacks a kind whose size is above 1; expert layers would have other
// pipeline stages than the other layers.
Result<Layout> layout_of(const Parallel& parallel, int world);

// The groups of one kind. Group g has the ranks bases[g] + offsets[i], ascending.
struct Groups {
  std::vector<int> bases;    // ascending
  std::vector<int> offsets;  // the first is 0

  int rank(std::size_t group, std::size_t member) const { return bases[group] + offsets[member]; }
};
Groups groups_of(const Layout& layout, Kind kind);

// Returns the kinds whose groups have more than one rank. The kind etp is included only if its
// groups differ from tp's. The kinds ep and edp are included only if ep is above 1 or etp's groups
// differ from tp's.
std::vector<Kind> kinds_of(const Layout& layout);

}  // namespace toprun::cost
