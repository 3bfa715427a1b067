#pragma once

#include <optional>
#include <string>

#include "decide/recorder/summary.h"
#include "decide/recorder/verdict.h"

namespace toprun::recorder {

// A finding about a group, to be filled.
Finding finding_of(const GroupSummary& group, Finding::Kind kind);

// The first call at which ranks differ: those after it follow from it.
std::optional<Finding> mismatch(const GroupSummary& group);

// What most ranks called; empty: the recorders have forgotten it.
std::string operation_at(const GroupSummary& group, std::int64_t sequence);

// Of an exchange to which all have come: what all give, if it is not what all take.
std::string imbalance(const GroupSummary& group, std::int64_t sequence);

}  // namespace toprun::recorder
