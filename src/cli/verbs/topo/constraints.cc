#include "base/os/files.h"
#include "cli/options/values.h"
#include "cli/verbs/topo/job.h"

namespace toprun::cli {
namespace {

using options::FlagId;

Result<std::size_t> nodes_in(const options::Call& call, FlagId id, std::size_t unless_given) {
  const auto argument = call.argument(id);
  if (!argument) return unless_given;
  const auto number = TRY(options::parse_number(*argument, 1, options::max_nodes));
  return static_cast<std::size_t>(number);
}

// Host lists, one or more per line, "#" begins a comment.
Result<std::vector<std::string>> earlier_order(const options::Call& call) {
  const auto file = call.text(FlagId::earlier_order);
  if (!file) return std::vector<std::string>{};
  const auto text = TRY(read_file(*file));
  return placement::read_order(text, *file);
}

}  // namespace

Result<placement::Constraints> constraints_of(const options::Call& call,
                                              std::optional<placement::Plan> plan) {
  const auto segment = TRY(nodes_in(call, FlagId::segment, 1));
  const auto nodes = TRY(nodes_in(call, FlagId::requested_nodes, 0));
  auto before = TRY(earlier_order(call));
  return placement::Constraints{
      .segment = segment, .nodes = nodes, .plan = std::move(plan), .before = std::move(before)};
}

}  // namespace toprun::cli
