#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace toprun {
namespace {

constexpr auto replace = nlohmann::json::error_handler_t::replace;

}  // namespace

nlohmann::json json_in(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, replace);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, replace);
}

}  // namespace toprun
