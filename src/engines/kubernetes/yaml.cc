#include "engines/kubernetes/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::engines::kubernetes {
namespace {

using Json = nlohmann::ordered_json;

// Words that YAML 1.1 takes for booleans and null (yaml.org/type/bool.html, null.html), in lower
// case.
constexpr std::array<std::string_view, 9> no_strings = {"y",  "n",   "yes",  "no",   "true",
                                                        "on", "off", "null", "false"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Characters that mean nothing inside a word; ':' and '#' do only before or after blanks, which a
// word has none of.
bool is_plain_character(char c) {
  constexpr std::string_view others = "0123456789-_./:=@+";
  return is_letter(c) || others.contains(c);
}

bool is_plain(std::string_view text) {
  // An option (--rank) or a path; a lone - begins an item of a list, and -1 is a number.
  const std::string_view word = text.substr(std::min(text.find_first_not_of('-'), text.size()));
  return !word.empty() && (is_letter(word.front()) || text.front() == '/') && text.back() != ':' &&
         std::ranges::all_of(text, is_plain_character) &&
         std::ranges::find(no_strings, lower(text)) == no_strings.end();
}

void write_text(YAML::Emitter& out, const std::string& text) {
  if (!is_plain(text)) out << YAML::DoubleQuoted;
  out << text;
}

void write(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      out << YAML::Key;
      write_text(out, key);
      out << YAML::Value;
      write(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& inner : value) write(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    write_text(out, value.get_ref<const std::string&>());
  } else {
    out << json_text(value);  // a number, true, false or null: written as in JSON
  }
}

using Json = nlohmann::ordered_json;

std::string place(const std::string& file, const YAML::Mark& mark) {
  if (mark.is_null()) return file;
  return fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

std::optional<bool> truth_in_yaml(std::string_view text) {
  for (const std::string_view yes :
       {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no :
       {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (const auto number = parse_int(text)) {
    const bool is_octal = text.size() > 1 && text.starts_with('0');
    if (!is_octal) return number;
  }
  const bool is_hexadecimal = text.starts_with("0x");
  const bool is_octal = text.starts_with('0') && text.size() > 1;
  if (!is_hexadecimal && !is_octal) return std::nullopt;
  text.remove_prefix(is_hexadecimal ? 2 : text.starts_with("0o") ? 2 : 1);
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 8);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  return is_all ? std::optional(number) : std::nullopt;
}

// A scalar without quotes.
Json plain_value(const std::string& text) {
  if (text.empty() || text == "~" || lower(text) == "null") return nullptr;
  if (const auto truth = truth_in_yaml(text)) return *truth;
  if (const auto number = whole_number(text)) return *number;
  const bool looks_like_number =
      text.find_first_not_of("+-.0123456789eE") == std::string::npos && text.contains('.');
  const auto number = looks_like_number ? parse_double(text) : std::nullopt;
  return number ? Json(*number) : Json(text);
}

// By the marks between them, which stand at a line's beginning: YAML::LoadAll() of yaml-cpp 0.7
// finds one empty document after another where a comma begins one.
bool has_several_documents(std::string_view text) {
  bool has_content = false;
  for (const std::string_view line : split(text, '\n')) {
    const bool is_mark = line.starts_with("---") && trim(line.substr(3, 1)).empty();
    if (is_mark && has_content) return true;
    const std::string_view words = trim(line);
    has_content = has_content || (!is_mark && !words.empty() && !words.starts_with('#'));
    has_content = has_content || (is_mark && words.size() > 3);
  }
  return false;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<Json> read(const YAML::Node& node, int depth) {
    if (++values_ > most_yaml_values) return refuse(node, "the file contains too many values");
    if (depth > deepest_yaml) return refuse(node, "this value is nested too deeply");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return Json(nullptr);
      case YAML::NodeType::Scalar:
        return node.Tag() == "?" ? plain_value(node.Scalar()) : Json(node.Scalar());
      case YAML::NodeType::Sequence:
        return list(node, depth);
      case YAML::NodeType::Map:
        return table(node, depth);
    }
    return Json(nullptr);
  }

 private:
  std::unexpected<Error> refuse(const YAML::Node& node, std::string why) const {
    return usage(place(file_, node.Mark()), std::move(why), "see kubectl explain");
  }

  Result<Json> list(const YAML::Node& node, int depth) {
    Json out = Json::array();
    for (const YAML::Node& item : node) {
      auto value = read(item, depth + 1);
      if (!value) return value;
      out.push_back(*std::move(value));
    }
    return out;
  }

  Result<Json> table(const YAML::Node& node, int depth) {
    Json out = Json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return refuse(entry.first, "a key is not a string");
      const std::string& key = entry.first.Scalar();
      if (out.contains(key))
        return refuse(entry.first, fmt::format("the key {} appears twice", key));
      auto value = read(entry.second, depth + 1);
      if (!value) return value;
      out[key] = *std::move(value);
    }
    return out;
  }

  const std::string& file_;
  std::size_t values_ = 0;
};

}  // namespace

std::string yaml(const Json& value) {
  YAML::Emitter out;
  // YAML 1.1 folds a text at U+0085, U+2028 and U+2029 too.
  out.SetOutputCharset(YAML::EscapeNonAscii);
  write(out, value);
  return std::string(out.c_str(), out.size()) + '\n';
}

Result<Json> parse_yaml_value(std::string_view text, const std::string& file) {
  if (text.size() > most_yaml_bytes) {
    return usage(file, fmt::format("the file is larger than {} bytes", most_yaml_bytes));
  }
  if (has_several_documents(text)) {
    return usage(file, "the file contains several documents", "write one object");
  }
  try {
    return Reader(file).read(YAML::Load(std::string(text)), 0);
  } catch (const YAML::Exception& error) {
    return usage(place(file, error.mark), error.msg, "write the patch in YAML or JSON");
  }
}

}  // namespace toprun::engines::kubernetes
