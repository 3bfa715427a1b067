#include "decide/topology/physical_host.h"

#include <algorithm>

namespace toprun::topology {

std::expected<Path, std::string> parse_domains(std::string_view text) {
  if (!text.starts_with('/')) {
    return std::unexpected(fmt::format("'{}' does not begin with '/'", text));
  }
  std::vector<Domain> path;
  path.reserve(std::min(max_levels, static_cast<std::size_t>(std::ranges::count(text, '/'))));
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view domain = text.substr(0, text.find('/'));
    if (path.size() > max_levels) {
      return std::unexpected(fmt::format("the path has more than {} levels", max_levels));
    }
    path.push_back(domain.empty()           ? Domain()
                   : domain == written_none ? Domain::none()
                                            : Domain(domain));
    text.remove_prefix(domain.size());
  }
  return Path(std::move(path));
}

std::expected<Path, std::string> parse_physical_host(std::string_view text) {
  auto path = parse_domains(text);
  if (!path) return path;
  path->pop_back();
  if (path->empty())
    return std::unexpected(fmt::format("'{}' does not name a domain above the host", text));
  return path;
}

std::string_view own_id(std::string_view text) {
  return text.substr(text.rfind('/') + 1);
}

std::expected<Path, std::string> PlaceTexts::domains(std::string_view text) {
  const auto found = paths_.find(text);
  if (found != paths_.end()) return found->second;
  auto path = parse_domains(text);
  if (path) paths_.emplace(text, *path);
  return path;
}

std::expected<Path, std::string> PlaceTexts::physical_host(std::string_view text) {
  const std::string_view above = text.substr(0, std::min(text.rfind('/'), text.size()));
  const auto found = paths_.find(above);
  if (found != paths_.end()) return found->second;
  auto path = parse_physical_host(text);
  if (path) paths_.emplace(above, *path);
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
