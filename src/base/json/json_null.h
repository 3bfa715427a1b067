#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text/outside.h"

// What is unset or empty, as JSON's null.
namespace toprun {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

inline nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

inline nlohmann::json or_null(const Outside& text) {
  return or_null(text.raw());
}

}  // namespace toprun
