#include "decide/placement/score.h"

#include <fmt/format.h>

#include "base/os/console.h"
#include "base/os/files.h"
#include "cli/options/plan_options.h"
#include "cli/options/values.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/topo/job.h"
#include "decide/placement/groups.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

Result<placement::Terms> terms_of(const Call& call, const PlacedJob& job) {
  placement::Terms terms;
  const auto reported = TRY(options::parse_links(options::plan_options(call)));
  terms.links = TRY(cost::links_of(job.map, reported, job.nproc_per_node));
  if (const auto size = call.argument(FlagId::message_size)) {
    const auto bytes = TRY(options::parse_size(*size));
    terms.message_bytes = static_cast<double>(bytes);
  }
  if (const auto order = call.text(FlagId::scored_order)) {
    auto listed = read_order_option(*order);
    if (!listed) {
      return usage("--order: " + listed.error()->what, listed.error()->why,
                   "name a file with an order, or the hosts, as in --order n1,n0");
    }
    terms.listed = {listed->from, std::move(listed->text), listed->is_file ? "file" : "list"};
  }
  return terms;
}

// What the seconds rest on; empty: on bytes that the user has given.
std::string assumptions(const placement::Plan& plan, const placement::GroupTable& table) {
  std::vector<std::string> derived;
  if (table.rows.empty()) return {};
  for (const placement::GroupScore& score : table.rows.front().kinds) {
    if (!plan.traffic.contains(score.kind)) derived.emplace_back(cost::name_of(score.kind));
  }
  if (derived.empty()) return {};
  return fmt::format(
      "the bytes of {}: of a model of {:g} billion parameters{}, {} tokens per step and at "
      "least {} per replica,\n  with activations of 2 bytes (docs/guides/parallel.md); --traffic "
      "KIND=BYTES sets measured bytes\n",
      join(derived, ", "), plan.parameters.value_or(cost::default_parameters) / 1e9,
      plan.parameters ? "" : " (the default of --model)", cost::tokens_per_step,
      cost::sequence_tokens);
}

// The effect of the orders on parallel groups, below the table or inside the object.
struct GroupParts {
  std::string text;
  std::string json;
  std::vector<std::string> warnings;
};

Result<GroupParts> group_parts(const options::PlanOptions& options, const PlacedJob& job) {
  const auto plan = TRY(options::parse_plan(options));
  if (!plan.has_value()) return GroupParts{};
  auto table = TRY(placement::tabulate_groups(job.hosts, job.map, *plan));
  return GroupParts{"\n" + placement::groups_text(table) + assumptions(*plan, table),
                    placement::groups_json(table), std::move(table.warnings)};
}

}  // namespace

Result<int> run_topo_score(const options::Call& call) {
  const auto job = TRY(find_job(call));
  auto terms = TRY(terms_of(call, job));
  const auto score = TRY(placement::score(job.hosts, job.map, std::move(terms)));
  const auto groups = TRY(group_parts(options::plan_options(call), job));
  if (call.has(FlagId::json)) return print_bytes(placement::score_json(score, groups.json));
  const int code = print(placement::score_text(score) + groups.text);
  say_what_is_unknown(score.source, groups.text.empty() ? score.warnings : groups.warnings);
  if (!score.levels.empty() && placement::all_links_assumed(score.terms.links)) {
    say(
        fmt::format("no link speed is known: the times assume host={:g} Gbps for all adapters of a "
                    "host together, and a network that is not oversubscribed; set speeds with "
                    "--link host=GBPS,LEVEL=GBPS",
                    score.terms.links.host.gbps));
  } else if (score.terms.links.host.assumed) {
    say(
        fmt::format("host={:g} Gbps is assumed for all adapters of a host together; --link "
                    "host=GBPS sets another speed",
                    score.terms.links.host.gbps));
  }
  return code;
}

}  // namespace toprun::cli
