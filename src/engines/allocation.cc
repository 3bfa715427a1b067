#include "engines/allocation.h"

#include "base/text/text.h"

namespace toprun::engines {
namespace {

// A name and what follows '=' if there is one.
Result<Node> node_in(std::string_view variable, std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) return Node{std::string(item), std::nullopt};
  const auto slots = parse_int(item.substr(equals + 1));
  if (!slots || *slots < 1) {
    return fail(fmt::format("{}: \"{}\"", variable, item), "no number of processes");
  }
  return Node{std::string(item.substr(0, equals)), static_cast<int>(*slots)};
}

}  // namespace

std::string node_list_text(std::span<const Node> nodes) {
  std::vector<std::string> items;
  for (const Node& node : nodes) {
    items.push_back(node.slots ? fmt::format("{}={}", node.name, *node.slots) : node.name);
  }
  return join(items, ",");
}

Result<std::vector<Node>> parse_node_list(std::string_view variable, std::string_view text) {
  std::vector<Node> nodes;
  for (const std::string_view item : split(text, ',')) {
    auto node = TRY(node_in(variable, item));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string count_list_text(std::span<const int> counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", counts[i]);
    if (end - i > 1) text += fmt::format("(x{})", end - i);
    i = end;
  }
  return text;
}

}  // namespace toprun::engines
