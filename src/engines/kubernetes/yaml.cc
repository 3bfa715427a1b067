#include "engines/kubernetes/yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

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
  return !text.empty() && is_letter(text.front()) && text.back() != ':' &&
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

}  // namespace

std::string yaml(const Json& value) {
  YAML::Emitter out;
  // YAML 1.1 folds a text at U+0085, U+2028 and U+2029 too.
  out.SetOutputCharset(YAML::EscapeNonAscii);
  write(out, value);
  return std::string(out.c_str(), out.size()) + '\n';
}

}  // namespace toprun::engines::kubernetes
