#include "topology/physical_host.h"

#include <algorithm>

namespace toprun::topology {

std::expected<Path, std::string> parse_domains(std::string_view text) {
  if (!text.starts_with('/')) {
    return std::unexpected(fmt::format("'{}' does not begin with '/'", text));
  }
  Path path;
  path.reserve(std::min(max_levels, static_cast<std::size_t>(std::ranges::count(text, '/'))));
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view domain = text.substr(0, text.find('/'));
    if (path.size() > max_levels) {
      return std::unexpected(fmt::format("a path of more than {} levels", max_levels));
    }
    path.push_back(domain.empty() ? std::nullopt : std::optional<std::string>(domain));
    text.remove_prefix(domain.size());
  }
  return path;
}

std::expected<Path, std::string> parse_physical_host(std::string_view text) {
  auto path = parse_domains(text);
  if (!path) return path;
  path->pop_back();
  if (path->empty())
    return std::unexpected(fmt::format("'{}' names no domain above the host", text));
  return path;
}

std::vector<std::string> physical_level_names(std::size_t count) {
  switch (count) {
    case 0:
      return {};
    case 1:
      return {"rack"};
    case 2:
      return {"cluster", "rack"};
    case 3:
      return {"cluster", "block", "rack"};
    default:
      break;
  }
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("level{}", i));
  return names;
}

}  // namespace toprun::topology
