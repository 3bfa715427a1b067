#include "base/json/json_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace toprun {
namespace {

constexpr auto replace = nlohmann::json::error_handler_t::replace;

// Where a text of JSON that begins before `i` goes on.
std::size_t end_of_text(std::string_view json, std::size_t i) {
  while (i < json.size() && json[i] != '"') i += json[i] == '\\' ? 2 : 1;
  return i;
}

bool is_within(std::string_view json, const JsonLimits& limits) {
  const std::size_t most_lists = limits.lists + json.size() / 32;
  const std::size_t most_values = limits.values + json.size() / 16;
  std::size_t lists = 0, values = 0;
  int depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '"':
        i = end_of_text(json, i + 1);
        break;
      case '[':
      case '{':
        if (++depth > limits.depth || ++lists > most_lists) return false;
        break;
      case ']':
      case '}':
        --depth;
        break;
      case ',':
        if (++values > most_values) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace

JsonWriter& JsonWriter::text(std::string_view text) {
  constexpr auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, plain)) {
    out_ += '"';
    out_ += text;
    out_ += '"';
  } else {
    out_ += json_text(nlohmann::json(text));
  }
  return *this;
}

JsonWriter& JsonWriter::number(std::size_t value) {
  out_ += fmt::format_int(value).c_str();
  return *this;
}

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

nlohmann::json json_in(std::string_view text, const JsonLimits& limits) {
  if (!is_within(text, limits)) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, false);
}

nlohmann::json json_in(std::string_view text) {
  return json_in(text, JsonLimits());
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, replace);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, replace);
}

}  // namespace toprun
