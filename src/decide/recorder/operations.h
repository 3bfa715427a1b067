#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decide/recorder/recorder_verdict.h"
#include "decide/recorder/summary.h"

namespace toprun::recorder {

// Which arguments of a call have to be the same on all ranks of a group. These rules follow from
// the semantics of torch.distributed's collectives, and from what ProcessGroupNCCL and
// ProcessGroupGloo pass to the recorder.
enum class Alike { nothing, inputs, outputs, both };

struct Operation {
  // The name without the backend. Variants that ranks may mix have the same name: for
  // _all_gather_base and all_gather_into_tensor, the name is all_gather.
  std::string_view name;
  // The numbers of elements are compared, not the shapes: [3,4] fits [12].
  Alike sizes = Alike::nothing;
  Alike types = Alike::nothing;
  bool waits_for_all = false;  // the operation ends on a rank only after all ranks have called it
  bool by_total = false;       // a list of tensors counts as equal to one tensor of their total
                               // size
  bool is_exchange = false;    // all ranks together receive what they send; the sizes may differ
                               // between ranks
};

// Looks up a recorded name: "nccl:all_reduce". For an unknown operation, only the name is compared,
// not sizes and types.
Operation operation_of(std::string_view recorded);

// Whether this call ends a group of calls that NCCL starts together. PyTorch records the state of
// such a group only in this last call.
bool ends_coalescing(std::string_view recorded);

// Creates a finding about a group. The caller fills in the rest of the finding.
Finding finding_of(const GroupSummary& group, Finding::Kind kind);

// Finds the first call at which ranks differ. Later differences are its consequences.
std::optional<Finding> mismatch(const GroupSummary& group);

// Returns the operation that most ranks called with this sequence number; empty: the recorders no
// longer have the call.
std::string operation_at(const GroupSummary& group, std::int64_t sequence);

// Describes how the total sent in an exchange differs from the total received; "" if they are
// equal. All ranks must have called the exchange.
std::string imbalance(const GroupSummary& group, std::int64_t sequence);

}  // namespace toprun::recorder
