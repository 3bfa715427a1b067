#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/clock.h"
#include "base/text/outside.h"

// Reads and writes JSON. Wraps nlohmann's parser and writer, so that they are compiled only once.
// If the code in a folder of src/ calls nlohmann's parser or writer directly, it compiles the
// templates again, and its object code is 45 KB larger.

namespace toprun {

// Writes JSON as text, without building a document tree: for a job of 10,000 nodes, building the
// tree would take longer than computing the order of the nodes. list() writes the brackets and
// commas of a list. All other brackets and commas are written by the caller.
class JsonWriter {
 public:
  // Writes a string. Writes U+FFFD for bytes that are not UTF-8, because a name that comes from a
  // file may contain any bytes.
  JsonWriter& text(std::string_view text);
  JsonWriter& optional(const std::optional<std::string>& value) {
    return value ? text(*value) : raw("null");
  }
  JsonWriter& number(std::size_t value);
  JsonWriter& raw(std::string_view json) {
    out_ += json;
    return *this;
  }
  // Writes a list. Calls `write` for each element of `range`; `write` has to append this element's
  // JSON.
  template <class Range, class Write>
  JsonWriter& list(const Range& range, Write write, std::string_view separator = ", ") {
    out_ += '[';
    bool first = true;
    for (const auto& element : range) {
      if (!std::exchange(first, false)) out_ += separator;
      write(element);
    }
    out_ += ']';
    return *this;
  }
  JsonWriter& texts(const std::vector<std::string>& range) {
    return list(range, [this](const std::string& element) { text(element); });
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

inline constexpr int on_one_line = -1;  // a value for `indent`

// Parses JSON. If `text` is not JSON, is_discarded() is true for the result.
nlohmann::json json_in(std::string_view text);

// Returns the value as text. Never throws: bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = on_one_line);
std::string json_text(const nlohmann::ordered_json& value, int indent = on_one_line);

// Limits for a JSON text. json_in() checks them before it builds any value. A value takes 16 bytes
// of memory. A list or object takes about 70 bytes, even if its text is only two bytes long, as in
// "[]". Without `limits`, json_in() uses these default limits.
struct JsonLimits {
  static constexpr std::size_t any = std::size_t{1} << 40;

  int depth = 256;
  // The maximum number of lists and objects; rises by one per 32 bytes of text.
  std::size_t lists = std::size_t{1} << 18;
  // The maximum number of values; rises by one per 16 bytes of text.
  std::size_t values = any;
};

// Like json_in(text). If the text exceeds a limit, is_discarded() is true for the result, as for a
// text that is not JSON.
nlohmann::json json_in(std::string_view text, const JsonLimits& limits);

// The following functions read JSON from files and programs. If a value is missing or has another
// type, they return an empty value and no error.

// Returns the member, or a JSON null if `object` has no such member or is not an object.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
// Returns the member's text, or "" if the member is not a string.
std::string text_at(const nlohmann::json& object, std::string_view key);
// Returns the strings in a list.
std::vector<std::string> texts_at(const nlohmann::json& object, std::string_view key);
// Returns the member if it is a whole number from 0 to `most`; otherwise nullopt.
std::optional<std::int64_t> number_at(const nlohmann::json& object, std::string_view key,
                                      std::int64_t most);
// Like number_at(), for numbers from 0 to a hundred million. The limit ensures that the sum of two
// such numbers fits into an int.
std::optional<int> int_at(const nlohmann::json& object, std::string_view key);

// Each or_null() returns a JSON null if the value is unset or empty.
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

// Returns the duration as a number, in the unit of the duration's type.
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
