#pragma once

#include <optional>

#include "cli/options/call.h"
#include "decide/placement/order.h"

namespace toprun::cli {

// The constraints on an order that `topo order` and `topo draw` accept; `plan` was parsed before.
// Errors: the file of --stable cannot be read or is not an order; wrong numbers.
Result<placement::Constraints> constraints_of(const options::Call& call,
                                              std::optional<placement::Plan> plan);

}  // namespace toprun::cli
