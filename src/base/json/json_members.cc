#include "base/json/json_members.h"

#include <nlohmann/json.hpp>

namespace toprun {

const nlohmann::json& member(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace toprun
