#pragma once

#include <optional>

#include "options/call.h"
#include "placement/order.h"

namespace toprun::cli {

// What an order is to respect, as `topo order` and `topo draw` take it; `plan` as it was parsed.
// Errors: the file of --stable cannot be read or is none; numbers that are none.
Result<placement::Wishes> wishes_of(const options::Call& call, std::optional<placement::Plan> plan);

}  // namespace toprun::cli
