#include "cli/verbs/topo/wishes.h"

#include "base/os/files.h"
#include "cli/options/values.h"

namespace toprun::cli {
namespace {

using options::FlagId;

Result<std::size_t> nodes_in(const options::Call& call, FlagId id, std::size_t unless_given) {
  const auto given = call.given(id);
  if (!given) return unless_given;
  const auto number = options::parse_number(*given, 1, options::max_nodes);
  if (!number) return std::unexpected(number.error());
  return static_cast<std::size_t>(*number);
}

// Host lists, one or more per line, "#" begins a comment.
Result<std::vector<std::string>> earlier_order(const options::Call& call) {
  const auto file = call.text(FlagId::earlier_order);
  if (!file) return std::vector<std::string>{};
  const auto text = read_file(*file);
  if (!text) return std::unexpected(text.error());
  return placement::read_order(*text, *file);
}

}  // namespace

Result<placement::Wishes> wishes_of(const options::Call& call,
                                    std::optional<placement::Plan> plan) {
  const auto segment = nodes_in(call, FlagId::segment, 1);
  if (!segment) return std::unexpected(segment.error());
  const auto nodes = nodes_in(call, FlagId::wanted_nodes, 0);
  if (!nodes) return std::unexpected(nodes.error());
  auto before = earlier_order(call);
  if (!before) return std::unexpected(before.error());
  return placement::Wishes{
      .segment = *segment, .nodes = *nodes, .plan = std::move(plan), .before = *std::move(before)};
}

}  // namespace toprun::cli
