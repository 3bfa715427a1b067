#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decide/recorder/recorder_verdict.h"
#include "decide/recorder/summary.h"

namespace toprun::recorder {

// Which of a call's tensors must have the same sizes or types on all ranks. These rules follow from
// the semantics of torch.distributed's collectives, and from what ProcessGroupNCCL and
// ProcessGroupGloo pass to the recorder.
enum class Alike { nothing, inputs, outputs, both };

struct Operation {
  // The name without the backend. Functions that match across ranks have one name: for
  // _all_gather_base and all_gather_into_tensor, it is all_gather.
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

// Looks up a name from a flight recorder's dump: "nccl:all_reduce". For an unknown operation, only
// its name is compared between ranks, not sizes and types.
Operation operation_of(std::string_view recorded);

// Whether this call ends a group of calls that NCCL starts together ("nccl:coalesced"). PyTorch
// records the state of such a group only in this last call.
bool ends_coalescing(std::string_view recorded);

// Creates a finding that names its kind and the group. The caller sets all other fields.
Finding finding_of(const GroupSummary& group, Finding::Kind kind);

// Finds the first call whose operation, sizes or types differ between ranks. Later differences are
// its consequences.
std::optional<Finding> mismatch(const GroupSummary& group);

// Returns the operation that most ranks called with this sequence number; empty: the recorders no
// longer have the call.
std::string operation_at(const GroupSummary& group, std::int64_t sequence);

// Describes how an exchange's total sent differs from its total received; "": they are equal. All
// ranks must have made this call.
std::string imbalance(const GroupSummary& group, std::int64_t sequence);

}  // namespace toprun::recorder
