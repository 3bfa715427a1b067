#include "base/os/environment.h"

namespace toprun {

Environment Environment::from(const char* const* envp) {
  Environment environment;
  for (; envp != nullptr && *envp != nullptr; ++envp) {
    const std::string_view entry = *envp;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.variables_.try_emplace(std::string(entry.substr(0, equals)),
                                       entry.substr(equals + 1));
  }
  return environment;
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> Environment::non_empty(std::string_view name) const {
  auto value = get(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

void Environment::unset(std::string_view name) {
  const auto found = variables_.find(name);
  if (found != variables_.end()) variables_.erase(found);
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> out;
  out.reserve(variables_.size());
  for (const auto& [name, value] : variables_) out.push_back(name + "=" + value);
  return out;
}

}  // namespace toprun
