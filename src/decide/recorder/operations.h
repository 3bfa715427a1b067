#pragma once

#include <string_view>

namespace toprun::recorder {

// What the ranks of a group have to give alike to a call: by the semantics of torch.distributed's
// collectives, and by what ProcessGroupNCCL and ProcessGroupGloo hand to the recorder of them.
enum class Alike { nothing, inputs, outputs, both };

struct Operation {
  std::string_view name;  // without its backend; of forms that can be mixed, the plainest
  // Elements are compared, not shapes: [3,4] fits [12].
  Alike sizes = Alike::nothing;
  Alike types = Alike::nothing;
  bool waits_for_all = false;  // it ends on a rank only after all have come
  bool by_total = false;       // a list of tensors, or one that is as large as all of them
  bool is_exchange = false;    // what all give is what all take, whatever each does
};

// Of a name as it was recorded: "nccl:all_reduce". Nothing is compared of an unknown one but its
// name.
Operation operation_of(std::string_view recorded);

// Ends a group of calls that NCCL starts at once; these have no state of their own.
bool ends_coalescing(std::string_view recorded);

}  // namespace toprun::recorder
