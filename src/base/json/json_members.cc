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

std::vector<std::string> texts_at(const nlohmann::json& object, std::string_view key) {
  std::vector<std::string> texts;
  const nlohmann::json& list = member(object, key);
  if (!list.is_array()) return texts;
  for (const nlohmann::json& one : list) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::optional<std::int64_t> number_at(const nlohmann::json& object, std::string_view key,
                                      std::int64_t most) {
  const nlohmann::json& value = member(object, key);
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  return number < 0 || number > most ? std::nullopt : std::optional(number);
}

std::optional<int> int_at(const nlohmann::json& object, std::string_view key) {
  constexpr int most = 100'000'000;
  const auto number = number_at(object, key, most);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace toprun
