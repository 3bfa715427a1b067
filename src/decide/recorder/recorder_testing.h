#pragma once

#include <cstring>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace toprun::recorder {

// Writes data as PyTorch's own pickler does: in protocol 2, and each text is memoized at its first
// use.
class Pickler {
 public:
  static std::string write(const nlohmann::json& value) {
    Pickler out;
    out.text_ = "\x80\x02";
    out.put(value);
    return out.text_ + ".";
  }

 private:
  template <class T>
  void number(char opcode, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_ += opcode;
    text_.append(bytes, sizeof value);
  }

  void put(const nlohmann::json& value) {
    if (value.is_null()) text_ += 'N';
    if (value.is_boolean()) text_ += value.get<bool>() ? '\x88' : '\x89';
    if (value.is_number_integer()) {
      text_ += "\x8a\x08";
      const auto number = value.get<std::int64_t>();
      char bytes[sizeof number];
      std::memcpy(bytes, &number, sizeof number);
      text_.append(bytes, sizeof number);
    }
    if (value.is_string()) put_text(value.get<std::string>());
    if (value.is_array()) {
      text_ += "](";
      for (const auto& item : value) put(item);
      text_ += 'e';
    }
    if (value.is_object()) {
      text_ += "}(";
      for (const auto& [key, item] : value.items()) {
        put_text(key);
        put(item);
      }
      text_ += 'u';
    }
  }

  void put_text(const std::string& value) {
    if (const auto known = memo_.find(value); known != memo_.end()) {
      return number<std::uint32_t>('j', known->second);
    }
    number('X', static_cast<std::uint32_t>(value.size()));
    text_ += value;
    const auto place = static_cast<std::uint32_t>(memo_.size());
    memo_[value] = place;
    number<std::uint32_t>('r', place);
  }

  std::string text_;
  std::map<std::string, std::uint32_t> memo_;
};

}  // namespace toprun::recorder
