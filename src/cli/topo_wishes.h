#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "options/plan_options.h"
#include "placement/order.h"

namespace toprun::cli {

// What an order is to respect, as `topo order` and `topo draw` take it.
struct WishOptions {
  options::PlanOptions plan;
  std::size_t segment = 1;
  std::size_t nodes = 0;
  std::optional<std::string> before;  // a file
};

// Adds --segment, --nnodes, --stable and the options of the plan.
void add_wish_options(CLI::App& app, WishOptions& options);

// As fill_as_launched(), for what a launch would respect too.
std::optional<int> fill_wishes_as_launched(CLI::App& app, const Environment& environment,
                                           const WishOptions& options);

// `plan`: as it was parsed. Errors: the file of --stable cannot be read or is none.
Result<placement::Wishes> wishes_of(const WishOptions& options,
                                    std::optional<placement::Plan> plan);

}  // namespace toprun::cli
