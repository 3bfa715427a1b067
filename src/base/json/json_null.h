#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text/clock.h"
#include "base/text/outside.h"

// A JSON null for a value that is unset or empty.
namespace toprun {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

template <class T>
nlohmann::json or_null(bool is_known, const T& value) {
  return is_known ? nlohmann::json(value) : nlohmann::json(nullptr);
}

// Returns the time as a text in RFC 3339.
inline nlohmann::json or_null(const std::optional<WallTime>& time) {
  return time ? nlohmann::json(rfc3339(*time)) : nlohmann::json(nullptr);
}

// Returns the duration as a number in the unit of its type.
template <class Number, class Unit>
nlohmann::json or_null(const std::optional<std::chrono::duration<Number, Unit>>& time) {
  return time ? nlohmann::json(time->count()) : nlohmann::json(nullptr);
}

inline nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

inline nlohmann::json or_null(const Outside& text) {
  return or_null(text.raw());
}

}  // namespace toprun
