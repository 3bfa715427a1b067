#include "bench/tables/json_document.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"

namespace toprun::bench {
namespace {

using nlohmann::json;

std::string place_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

// How deep brackets are nested, those in strings left out. Looked at before the library reads the
// text, because it makes an object for each level.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

// The library's exceptions end here.
Result<json> parsed(std::string_view text, const std::string& file) {
  if (depth_of(text) > max_json_depth) {
    return usage("cannot read " + printable(file),
                 fmt::format("the file is nested more than {} levels deep", max_json_depth));
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return usage(fmt::format("{}:{}", printable(file), place_in(text, error.byte)), "not JSON");
  } catch (const json::exception&) {
    return usage("cannot read " + printable(file),
                 "the file contains a number that is out of range");
  }
}

const json& no_object() {
  static const json object = json::object();
  return object;
}

const json& no_list() {
  static const json list = json::array();
  return list;
}

}  // namespace

Result<json> parse_document(std::string_view text, const std::string& file) {
  if (text.size() > max_json_bytes) {
    return usage("cannot read " + printable(file),
                 fmt::format("the file is larger than {} MiB", max_json_bytes >> 20));
  }
  auto document = parsed(text, file);
  if (document && !document->is_object()) {
    return usage(printable(file) + ":1:1", "not a JSON object");
  }
  return document;
}

JsonFields::JsonFields(const json& object, std::string place, std::string& wrong)
    : object_(object.is_object() ? object : no_object()), place_(std::move(place)), wrong_(wrong) {
  if (!object.is_object() && wrong_.empty()) wrong_ = place_ + " is not an object";
}

bool JsonFields::has(const char* key) const {
  return find(key) != nullptr;
}

std::string JsonFields::text(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  fault(key, "a text");
  return {};
}

double JsonFields::number(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number) && number >= 0) return number;
  }
  fault(key, "a number from 0 up");
  return 0;
}

// nccl-tests writes counts of wrong elements with a decimal point.
std::uint64_t JsonFields::count(const char* key) {
  constexpr double exact = 9007199254740992;  // 2^53
  const json* const value = find(key);
  if (value != nullptr && value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (value != nullptr && value->is_number_float()) {
    const auto number = value->get<double>();
    if (number >= 0 && number <= exact && number == std::floor(number)) {
      return static_cast<std::uint64_t>(number);
    }
  }
  fault(key, "a whole number from 0 up");
  return 0;
}

std::int64_t JsonFields::integer(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_number_integer()) return value->get<std::int64_t>();
  if (value != nullptr && value->is_string()) {
    if (const auto number = parse_int(trim(value->get_ref<const std::string&>()))) return *number;
  }
  fault(key, "a whole number");
  return 0;
}

JsonFields JsonFields::object(const char* key) {
  const json* const value = find(key);
  return {value != nullptr ? *value : no_list(), place_of(key), wrong_};
}

std::string JsonFields::text_or(const char* key, std::string otherwise) {
  return has(key) ? text(key) : std::move(otherwise);
}

double JsonFields::number_or(const char* key, double otherwise) {
  return has(key) ? number(key) : otherwise;
}

std::uint64_t JsonFields::count_or(const char* key, std::uint64_t otherwise) {
  return has(key) ? count(key) : otherwise;
}

std::vector<std::string> JsonFields::texts(const char* key) {
  std::vector<std::string> out;
  for (const json& element : list(key)) {
    if (element.is_string()) {
      out.push_back(element.get<std::string>());
    } else {
      fault(key, "a list of texts");
    }
  }
  return out;
}

std::size_t JsonFields::size_of(const char* key) {
  return list(key).size();
}

void JsonFields::fault(const char* key, std::string_view expected) {
  if (wrong_.empty()) wrong_ = fmt::format("{} is not {}", place_of(key), expected);
}

const json& JsonFields::list(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_array()) return *value;
  fault(key, "a list");
  return no_list();
}

const json* JsonFields::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonFields::place_of(const char* key) const {
  return place_.empty() ? key : place_ + "." + key;
}

}  // namespace toprun::bench
