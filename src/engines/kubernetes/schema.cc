#include "engines/kubernetes/schema.h"

#include <fmt/format.h>

#include <array>

#include "base/json/json_text.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"

namespace toprun::engines::kubernetes {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;

// As of `Operator`: where the API server publishes them.
constexpr std::array<std::string_view, 3> places = {
    "kubeflow.org/v1", "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"};
// Those of the training operator's six kinds take 5 MB.
constexpr JsonLimits limits = {.depth = 512, .lists = 1u << 22, .values = 1u << 24};

bool is_of(const json& schema, std::string_view kind) {
  const auto found = schema.find("x-kubernetes-group-version-kind");
  if (found == schema.end() || !found->is_array()) return false;
  for (const json& one : *found) {
    if (text_at(one, {"kind"}) == kind) return true;
  }
  return false;
}

// null: whatever is below it is allowed.
const json& below(const json& schema, const std::string& key, bool& is_field) {
  static const json open;
  is_field = true;
  if (!schema.is_object() || schema.contains("$ref") || schema.contains("allOf")) return open;
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(key)) return properties->at(key);
  if (at(schema, {"x-kubernetes-preserve-unknown-fields"}) == true) return open;
  const auto additional = schema.find("additionalProperties");
  if (additional != schema.end()) return additional->is_object() ? *additional : open;
  is_field = properties == schema.end();
  return open;
}

const json& item_of(const json& schema) {
  static const json open;
  if (!schema.is_object()) return open;
  const auto items = schema.find("items");
  return items == schema.end() ? open : *items;
}

std::optional<std::string> unknown_in(const json& schema, const Json& value,
                                      const std::string& path) {
  if (schema.is_null()) return std::nullopt;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (auto found = unknown_in(item_of(schema), value[i], fmt::format("{}[{}]", path, i))) {
        return found;
      }
    }
  }
  if (!value.is_object()) return std::nullopt;
  for (const auto& [key, part] : value.items()) {
    const std::string name = path.empty() ? key : path + '.' + key;
    bool is_field = true;
    const json& inner = below(schema, key, is_field);
    if (!is_field) return name;
    if (auto found = unknown_in(inner, part, name)) return found;
  }
  return std::nullopt;
}

}  // namespace

bool Schema::has(std::string_view path) const {
  const json* schema = &schema_;
  for (const std::string_view key : split(path, '.')) {
    if (schema->is_null()) return true;
    bool is_field = true;
    schema = &below(*schema, std::string(key), is_field);
    if (!is_field) return false;
  }
  return true;
}

std::optional<std::string> Schema::unknown_field(const Json& object) const {
  Json spec = Json::object();  // the rest is the API's own
  if (object.contains("spec")) spec["spec"] = object.at("spec");
  return unknown_in(schema_, spec, "");
}

Schema parse_schema(std::string_view text, Operator which) {
  const json all = json_in(text, limits);
  if (!all.is_object()) return {};
  const auto components = all.find("components");
  if (components == all.end() || !components->is_object()) return {};
  const auto schemas = components->find("schemas");
  if (schemas == components->end() || !schemas->is_object()) return {};
  for (const json& schema : *schemas) {
    const bool has_spec = schema.is_object() && schema.contains("properties") &&
                          schema.at("properties").contains("spec");
    if (has_spec && is_of(schema, kind_of(which))) return Schema(schema);
  }
  return {};
}

Schema ask_schema(Operator which, const Environment& environment, std::chrono::milliseconds limit) {
  const std::string path =
      fmt::format("/openapi/v3/apis/{}", places[static_cast<std::size_t>(which)]);
  const auto answer = process::run({"kubectl", "get", "--raw", path}, environment, limit);
  if (!answer || answer->code != 0) return {};
  return parse_schema(answer->out, which);
}

}  // namespace toprun::engines::kubernetes
