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
      return usage(label, "it names no kind of parallelism and its bytes",
                   "write KIND=SIZE of tp, cp, ep, etp, dp, edp and pp, as in dp=2G,tp=512M");
    }
    const auto bytes = parse_size({"--traffic", std::string(trim(part.substr(equals + 1))), false});
    if (!bytes) return std::unexpected(bytes.error());
    if (!traffic.emplace(*kind, static_cast<double>(*bytes)).second) {
      return usage(label, fmt::format("{} is given twice", cost::name_of(*kind)), "give it once");
    }
  }
  return traffic;
}

Result<void> check_alone(const PlanOptions& options) {
  if (!options.model && !options.traffic) return {};
  return usage(options.model ? "--model" : "--traffic",
               "it tells what --parallel is to keep near, which is not given",
               "add --parallel tp=8,pp=4 or leave it out");
}

}  // namespace

PlanOptions plan_options(const Call& call) {
  PlanOptions out{
      call.text(FlagId::parallel), call.text(FlagId::model), call.text(FlagId::traffic), {}};
  for (Given& link : call.all(FlagId::link)) out.links.push_back(std::move(link.value));
  return out;
}

Result<cost::LinksByLevel> parse_links(const PlanOptions& options) {
  cost::LinksByLevel links;
  for (const std::string& texts : options.links) {
    for (const std::string_view text : toprun::split(texts, ',')) {
      auto link = cost::parse_link(trim(text));
      if (!link) return std::unexpected(link.error());
      const std::string level = link->first;
      if (!links.insert(*std::move(link)).second) {
        return usage(fmt::format("--link {}", text),
                     fmt::format("level {} has a figure already", level), "give each level once");
      }
    }
  }
  return links;
}

Result<std::optional<placement::Plan>> parse_plan(const PlanOptions& options) {
  placement::Plan plan;
  auto links = parse_links(options);
  if (!links) return std::unexpected(links.error());
  plan.links = *std::move(links);
  if (!options.parallel) {
    if (auto alone = check_alone(options); !alone) return std::unexpected(alone.error());
    return std::nullopt;
  }
  auto parallel = cost::parse_parallel(*options.parallel);
  if (!parallel) return std::unexpected(parallel.error());
  plan.parallel = *std::move(parallel);
  if (options.model) {
    const auto parameters = cost::parse_model(*options.model);
    if (!parameters) return std::unexpected(parameters.error());
    plan.parameters = *parameters;
  }
  if (options.traffic) {
    auto traffic = parse_traffic(*options.traffic);
    if (!traffic) return std::unexpected(traffic.error());
    plan.traffic = *std::move(traffic);
  }
  return plan;
}

Result<std::optional<placement::Plan>> parse_order_plan(const PlanOptions& options) {
  auto plan = parse_plan(options);
  if (!plan || *plan || options.links.empty()) return plan;
  return usage("--link", "it tells what carries the traffic of --parallel, which is not given",
               "add --parallel tp=8,pp=4 or leave it out");
}

}  // namespace toprun::options
