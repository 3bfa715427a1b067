#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace toprun::snapshot {

// The step number in a line of training output: "step 230 loss 0.004", "iter: 7/1000",
// "global_step=12", or a progress bar's "230/1000 [00:41<…". nullopt: no step number.
std::optional<std::uint64_t> step_in(std::string_view line);

}  // namespace toprun::snapshot
