#include "cli/options/plan_options.h"

#include "base/text/text.h"
#include "cli/options/values.h"

namespace toprun::options {
namespace {

// Parses "dp=2G,tp=512M".
Result<std::map<cost::Kind, double>> parse_traffic(const std::string& text) {
  std::map<cost::Kind, double> traffic;
  for (const std::string_view part : toprun::split(text, ',')) {
    const std::string label = fmt::format("--traffic {}", printable(part));
    const std::size_t equals = part.find('=');
    const auto kind = cost::find_kind(trim(part.substr(0, equals)));
    if (!kind || equals == std::string_view::npos) {
      return usage(
          label, "each entry must be a kind of parallelism and its number of bytes",
          "write KIND=SIZE, where KIND is tp, cp, ep, etp, dp, edp or pp, as in dp=2G,tp=512M");
    }
    const auto bytes =
        TRY(parse_size({"--traffic", std::string(trim(part.substr(equals + 1))), false}));
    if (!traffic.emplace(*kind, static_cast<double>(bytes)).second) {
      return usage(label, fmt::format("{} is given twice", cost::name_of(*kind)), "give it once");
    }
  }
  return traffic;
}

Result<void> check_alone(const PlanOptions& options) {
  if (!options.model && !options.traffic) return {};
  return usage(options.model ? "--model" : "--traffic", "it needs --parallel",
               "add --parallel tp=8,pp=4 or leave this option out");
}

}  // namespace

PlanOptions plan_options(const Call& call) {
  PlanOptions out{
      call.text(FlagId::parallel), call.text(FlagId::model), call.text(FlagId::traffic), {}};
  for (Argument& link : call.all(FlagId::link)) out.links.push_back(std::move(link.value));
  return out;
}

Result<cost::LinksByLevel> parse_links(const PlanOptions& options) {
  cost::LinksByLevel links;
  for (const std::string& texts : options.links) {
    for (const std::string_view text : toprun::split(texts, ',')) {
      auto link = TRY(cost::parse_link(trim(text)));
      const std::string level = link.first;
      if (!links.insert(std::move(link)).second) {
        return usage(fmt::format("--link {}", text), fmt::format("level {} is given twice", level),
                     "give each level once");
      }
    }
  }
  return links;
}

Result<std::optional<placement::Plan>> parse_plan(const PlanOptions& options) {
  placement::Plan plan;
  plan.links = TRY(parse_links(options));
  if (!options.parallel) {
    TRY(check_alone(options));
    return std::nullopt;
  }
  plan.parallel = TRY(cost::parse_parallel(*options.parallel));
  if (options.model) {
    plan.parameters = TRY(cost::parse_model(*options.model));
  }
  if (options.traffic) {
    plan.traffic = TRY(parse_traffic(*options.traffic));
  }
  return plan;
}

Result<std::optional<placement::Plan>> parse_order_plan(const PlanOptions& options) {
  auto plan = parse_plan(options);
  if (!plan || *plan || options.links.empty()) return plan;
  return usage("--link", "it needs --parallel",
               "add --parallel tp=8,pp=4 or leave this option out");
}

}  // namespace toprun::options
