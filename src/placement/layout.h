#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace toprun::placement {

// Which ranks of a job work together, as Megatron-Core numbers them (initialize_model_parallel and
// RankGenerator of megatron/core/parallel_state.py): the ranks are a grid, one dimension per kind
// of parallelism, and a group is a row of that grid. Layers of experts see the same ranks as
// another grid, in which ep and etp take the place of cp and tp.
enum class Kind {
  tp,   // tensor: the parts of one layer
  cp,   // context: the parts of one sequence
  ep,   // the experts of one layer
  etp,  // tensor, of experts' layers
  dp,   // data; its gradients are reduced over dp and cp together, so its groups are those
  edp,  // data, of experts' layers
  pp,   // pipeline: the stages
};
inline constexpr std::array all_kinds = {Kind::tp, Kind::cp,  Kind::ep, Kind::etp,
                                         Kind::dp, Kind::edp, Kind::pp};

std::string_view name_of(Kind kind);
std::optional<Kind> find_kind(std::string_view name);

// --parallel as the user wrote it.
struct Parallel {
  std::map<Kind, int> sizes;  // ≥ 1; those that are given
  std::vector<Kind> order;  // innermost first, of tp, cp, ep, dp and pp; empty: Megatron's default
};

inline constexpr std::size_t max_parallel_text = 256;  // bytes

// "tp=8,pp=4,dp=16,order=tp-cp-ep-dp-pp". Error (usage): a kind that there is not, one given twice,
// a size that is no number from 1 to 2³¹−1, an order that names a kind twice.
Result<Parallel> parse_parallel(std::string_view text);

// The two grids of a job's ranks.
struct Layout {
  int world = 1;
  std::array<int, all_kinds.size()> sizes = {};
  std::vector<Kind> order;  // innermost first; tp, cp, ep, dp and pp, each once

  int size(Kind kind) const { return sizes[static_cast<std::size_t>(kind)]; }
};

// Sizes that are not given are 1, but for dp, which takes the ranks that are left, and etp, which
// is tp. Kinds that the order lacks come last. Error (usage), as Megatron has it: the product of
// the sizes is not the world's; the order lacks a kind of more than one; the stages of experts'
// layers would not be those of the others.
Result<Layout> layout_of(const Parallel& parallel, int world);

// Group g has the ranks bases[g] + offsets[i], ascending.
struct Groups {
  std::vector<int> bases;    // ascending
  std::vector<int> offsets;  // the first is 0

  int rank(std::size_t group, std::size_t member) const { return bases[group] + offsets[member]; }
};
Groups groups_of(const Layout& layout, Kind kind);

// The kinds whose groups have more than one rank; etp only where its groups are not those of tp,
// the experts' others only where there are several parts of experts.
std::vector<Kind> kinds_of(const Layout& layout);

}  // namespace toprun::placement
