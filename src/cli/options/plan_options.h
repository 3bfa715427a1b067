#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/call.h"
#include "decide/placement/plan.h"

namespace toprun::options {

// --parallel and its companion options, not parsed yet.
struct PlanOptions {
  std::optional<std::string> parallel;
  std::optional<std::string> model;
  std::optional<std::string> traffic;
  std::vector<std::string> links;
};

PlanOptions plan_options(const Call& call);

// Parses --link. Errors (usage): errors of parse_link(); a repeated level.
Result<cost::LinksByLevel> parse_links(const PlanOptions& options);

// Parses --parallel; nullopt without --parallel. Errors (usage): errors of the parsers; an invalid
// size; --model or --traffic without --parallel.
Result<std::optional<placement::Plan>> parse_plan(const PlanOptions& options);
// Like parse_plan(), for commands that only order nodes: --link without --parallel is also an
// error.
Result<std::optional<placement::Plan>> parse_order_plan(const PlanOptions& options);

}  // namespace toprun::options
