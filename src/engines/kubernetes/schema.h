#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/os/environment.h"
#include "engines/kubernetes/operators.h"

namespace toprun::engines::kubernetes {

// The fields that a kind has in the cluster's version. The fields come from the CRD's schema, which
// the API server publishes to all authenticated users (OpenAPI v3, Kubernetes 1.27 and later).
class Schema {
 public:
  // An empty schema allows every field.
  Schema() = default;
  // `schema`: the kind's entry in components.schemas.
  explicit Schema(nlohmann::json schema) : schema_(std::move(schema)) {}

  bool is_known() const { return !schema_.is_null(); }
  // Whether a field exists: "spec.runtimePatches". True if the schema is unknown.
  bool has(std::string_view path) const;
  // The first field of the object that the kind does not have: "spec.runtimePatches",
  // "spec.podTemplateOverrides[0].spec.hostNetwork". nullopt: all fields exist, or the schema is
  // unknown.
  std::optional<std::string> unknown_field(const nlohmann::ordered_json& object) const;

 private:
  nlohmann::json schema_;
};

// The kind's schema from the output of `kubectl get --raw /openapi/v3/apis/GROUP/VERSION`; an empty
// schema if the kind is missing in the output. Pure function.
Schema parse_schema(std::string_view text, Operator which);

// Queries kubectl. Blocks for at most `limit`. Without an answer, the schema is empty.
Schema ask_schema(Operator which, const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
