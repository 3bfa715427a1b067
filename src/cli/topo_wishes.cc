#include "cli/topo_wishes.h"

#include <array>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "cli/topo_job.h"
#include "options/values.h"

namespace toprun::cli {
namespace {

// Of --stable: host lists, one or more per line, "#" begins a comment.
Result<std::vector<std::string>> earlier_order(const WishOptions& options) {
  if (!options.before) return std::vector<std::string>{};
  const auto text = read_file(*options.before);
  if (!text) return std::unexpected(text.error());
  return placement::read_order(*text, *options.before);
}

}  // namespace

void add_wish_options(CLI::App& app, WishOptions& options) {
  app.add_option("--segment", options.segment,
                 "keep groups of so many nodes, as of one NVLink domain, inside one domain")
      ->type_name("N")
      ->check(CLI::Range(1, options::max_nodes));
  app.add_option("--nnodes", options.nodes,
                 "so many nodes are needed: which of them, and which stay idle")
      ->type_name("N")
      ->check(CLI::Range(1, options::max_nodes));
  app.add_option("--stable", options.before,
                 "a file with an earlier order of the job, as --format hosts prints it: hosts that "
                 "stay keep their places")
      ->type_name("FILE");
  options::add_plan_options(app, options.plan);
}

std::optional<int> fill_wishes_as_launched(CLI::App& app, const Environment& environment,
                                           const WishOptions& options) {
  constexpr std::array flags = {options::FlagId::segment, options::FlagId::parallel,
                                options::FlagId::model, options::FlagId::traffic};
  constexpr std::array links = {options::FlagId::link};  // of use with --parallel only
  if (const auto code = fill_as_launched(app, environment, flags)) return code;
  return options.plan.parallel ? fill_as_launched(app, environment, links) : std::nullopt;
}

Result<placement::Wishes> wishes_of(const WishOptions& options,
                                    std::optional<placement::Plan> plan) {
  auto before = earlier_order(options);
  if (!before) return std::unexpected(before.error());
  return placement::Wishes{.segment = options.segment,
                           .nodes = options.nodes,
                           .plan = std::move(plan),
                           .before = *std::move(before)};
}

}  // namespace toprun::cli
