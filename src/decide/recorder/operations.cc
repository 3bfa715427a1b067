#include "decide/recorder/operations.h"

#include <algorithm>

namespace toprun::recorder {
namespace {

struct Row {
  std::string_view recorded;
  Operation operation;
};

constexpr Alike free = Alike::nothing;
constexpr Alike in = Alike::inputs;
constexpr Alike out = Alike::outputs;
constexpr Alike both = Alike::both;

// Only the root of a gather has outputs, only that of a scatter inputs, and what a reduce leaves on
// the others is undefined. An all_to_all's parts may all be of different sizes; of the forms that
// end with "v" so may each rank's.
constexpr Row rows[] = {
    {"all_reduce", {"all_reduce", both, both, true, false, false}},
    {"all_reduce_barrier", {"barrier", free, free, true, false, false}},
    {"barrier", {"barrier", free, free, true, false, false}},
    {"allreduce_coalesced", {"allreduce_coalesced", both, both, true, false, false}},
    {"broadcast", {"broadcast", both, both, false, false, false}},
    {"_broadcast_oop", {"_broadcast_oop", both, both, false, false, false}},
    {"reduce", {"reduce", in, in, false, false, false}},
    {"_reduce_oop", {"_reduce_oop", in, in, false, false, false}},
    {"all_gather", {"all_gather", both, both, true, true, false}},
    {"_all_gather_base", {"all_gather", both, both, true, true, false}},
    {"all_gather_single", {"all_gather", both, both, true, true, false}},
    {"all_gather_into_tensor", {"all_gather", both, both, true, true, false}},
    {"all_gather_into_tensor_coalesced",
     {"all_gather_into_tensor_coalesced", both, both, true, false, false}},
    {"all_gather_v", {"all_gather_v", free, both, true, false, false}},
    {"reduce_scatter", {"reduce_scatter", both, both, true, true, false}},
    {"_reduce_scatter_base", {"reduce_scatter", both, both, true, true, false}},
    {"reduce_scatter_single", {"reduce_scatter", both, both, true, true, false}},
    {"reduce_scatter_tensor", {"reduce_scatter", both, both, true, true, false}},
    {"reduce_scatter_tensor_coalesced",
     {"reduce_scatter_tensor_coalesced", both, both, true, false, false}},
    {"reduce_scatter_v", {"reduce_scatter_v", free, both, true, false, false}},
    {"gather", {"gather", in, in, false, false, false}},
    {"scatter", {"scatter", out, out, false, false, false}},
    {"all_to_all", {"all_to_all", free, both, true, false, true}},
    {"all_to_all_single", {"all_to_all", free, both, true, false, true}},
    {"all_to_all_v_single", {"all_to_all", free, both, true, false, true}},
};

std::string_view without_backend(std::string_view recorded) {
  const auto colon = recorded.find(':');
  return colon == std::string_view::npos ? recorded : recorded.substr(colon + 1);
}

}  // namespace

Operation operation_of(std::string_view recorded) {
  const std::string_view name = without_backend(recorded);
  const auto* const row = std::ranges::find(rows, name, &Row::recorded);
  return row == std::end(rows) ? Operation{.name = name} : row->operation;
}

// "nccl:coalesced", or in capitals what was coalesced: "nccl:ALLGATHER_coalesced".
bool ends_coalescing(std::string_view recorded) {
  constexpr std::string_view ending = "_coalesced";
  const std::string_view name = without_backend(recorded);
  if (name == ending.substr(1)) return true;
  return name.ends_with(ending) && name.front() >= 'A' && name.front() <= 'Z';
}

}  // namespace toprun::recorder
