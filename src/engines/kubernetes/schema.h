#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/os/environment.h"
#include "engines/kubernetes/operators.h"

namespace toprun::engines::kubernetes {

// What a cluster's own version of a kind has for fields: its CRD's schema, as the API server
// publishes it for everyone who may log in (OpenAPI v3, Kubernetes 1.27 and later).
class Schema {
 public:
  // Knows nothing, and so allows everything.
  Schema() = default;
  // `schema`: of the kind, as components.schemas has it.
  explicit Schema(nlohmann::json schema) : schema_(std::move(schema)) {}

  bool is_known() const { return !schema_.is_null(); }
  // Whether a field is there: "spec.runtimePatches". True where nothing is known.
  bool has(std::string_view path) const;
  // The first field of the object that the kind does not have: "spec.runtimePatches",
  // "spec.podTemplateOverrides[0].spec.hostNetwork". nullopt: none, or nothing is known.
  std::optional<std::string> unknown_field(const nlohmann::ordered_json& object) const;

 private:
  nlohmann::json schema_;
};

// The kind's schema in what `kubectl get --raw /openapi/v3/apis/GROUP/VERSION` prints. Pure. One
// that knows nothing if it is not there.
Schema parse_schema(std::string_view text, Operator which);

// Asks kubectl. Blocks `limit` at most. What gives no answer gives a schema that knows nothing.
Schema ask_schema(Operator which, const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
