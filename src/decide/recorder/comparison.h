#pragma once

#include <optional>
#include <string>

#include "decide/recorder/recorder_verdict.h"
#include "decide/recorder/summary.h"

namespace toprun::recorder {

// A new finding about a group. The caller fills in the rest of the finding.
Finding finding_of(const GroupSummary& group, Finding::Kind kind);

// The first call at which ranks differ. Later differences are its consequences.
std::optional<Finding> mismatch(const GroupSummary& group);

// The operation that most ranks called with this sequence number; empty: the recorders no longer
// have the call.
std::string operation_at(const GroupSummary& group, std::int64_t sequence);

// For an exchange that all ranks have called: a text if the total sent differs from the total
// received, else "".
std::string imbalance(const GroupSummary& group, std::int64_t sequence);

}  // namespace toprun::recorder
