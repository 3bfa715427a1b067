#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text/shared.h"
#include "run/model/messages.h"

namespace toprun::model {

// Each kind of message has one function that lists its fields. The function gets a FieldWriter,
// which writes the message, or a FieldReader, which reads it. Reading throws OutOfRange or
// nlohmann::json::exception.
class FieldWriter {
 public:
  static constexpr bool reads = false;

  explicit FieldWriter(nlohmann::json& object) : object_(object) {}

  nlohmann::json& object() { return object_; }
  void value(const char* name, const auto& value) { object_[name] = value; }
  template <class T>
  void value(const char* name, const Shared<T>& value) {
    object_[name] = *value;
  }
  void name(const char* name, const std::string& text) { object_[name] = text; }
  void number(const char* name, const auto& number, std::int64_t, std::int64_t) {
    object_[name] = number;
  }
  void number(const char* name, std::chrono::milliseconds time, std::int64_t, std::int64_t) {
    object_[name] = time.count();
  }
  // Writes the field only if it has a value.
  void known(const char* name, const auto& value) {
    if (value) object_[name] = *value;
  }
  void known_number(const char* name, const auto& value, std::int64_t least, std::int64_t most) {
    if (value) number(name, *value, least, most);
  }
  // Writes the field only if its value differs from `usual`.
  void unusual(const char* name, const auto& value, const auto& usual) {
    if (value != usual) object_[name] = value;
  }
  void unusual_number(const char* name, int value, int usual, int) { unusual(name, value, usual); }

 private:
  nlohmann::json& object_;
};

class FieldReader {
 public:
  static constexpr bool reads = true;

  explicit FieldReader(const nlohmann::json& object) : object_(object) {}

  const nlohmann::json& object() { return object_; }
  void value(const char* name, auto& value) { object_.at(name).get_to(value); }
  template <class T>
  void value(const char* name, Shared<T>& value) {
    value = object_.at(name).template get<T>();
  }
  // Reads a text of at most longest_name bytes.
  void name(const char* name, std::string& text) {
    value(name, text);
    if (text.size() > longest_name) throw OutOfRange(name);
  }
  template <class Number>
  void number(const char* name, Number& number, std::int64_t least, std::int64_t most) {
    number = static_cast<Number>(whole_number(object_, name, least, most));
  }
  template <template <class> class Optional, class T>
  void known(const char* name, Optional<T>& value) {
    if (object_.contains(name)) value = object_.at(name).template get<T>();
  }
  template <class Number>
  void known_number(const char* name, std::optional<Number>& value, std::int64_t least,
                    std::int64_t most) {
    if (object_.contains(name)) number(name, value.emplace(), least, most);
  }
  void unusual(const char* name, auto& value, const auto& usual) {
    value = usual;
    if (object_.contains(name)) this->value(name, value);
  }
  void unusual_number(const char* name, int& value, int usual, int most) {
    value = usual;
    if (object_.contains(name)) number(name, value, 0, most);
  }

 private:
  const nlohmann::json& object_;
};

}  // namespace toprun::model
