#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/call.h"
#include "decide/placement/plan.h"

namespace toprun::options {

// --parallel and what goes with it, as they were given.
struct PlanOptions {
  std::optional<std::string> parallel;
  std::optional<std::string> model;
  std::optional<std::string> traffic;
  std::vector<std::string> links;
};

PlanOptions plan_options(const Call& call);

// What --link tells. Errors (usage): those of parse_link(); a level twice.
Result<cost::LinksByLevel> parse_links(const PlanOptions& options);

// nullopt: without --parallel. Errors (usage): those of the parsers; a size that is none; --model
// or --traffic without --parallel.
Result<std::optional<placement::Plan>> parse_plan(const PlanOptions& options);
// The same for what only orders nodes: there --link without --parallel is an error too.
Result<std::optional<placement::Plan>> parse_order_plan(const PlanOptions& options);

}  // namespace toprun::options
