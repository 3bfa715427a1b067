#include <cstdint>
#include <cstdlib>

#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/patch.h"
#include "engines/kubernetes/yaml.h"

// A schema that knows nothing allows everything, and a patch leaves the object's kind and name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::engines::kubernetes;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  nlohmann::ordered_json object = {{"apiVersion", "kubeflow.org/v1"},
                                   {"kind", "PyTorchJob"},
                                   {"metadata", {{"name", "a"}}},
                                   {"spec", {{"volumes", {{{"name", "v"}}}}}}};
  if (const auto patch = parse_yaml_value(text, "patch")) {
    nlohmann::ordered_json changed = object;
    const auto done = apply_patch(changed, *patch, "patch");
    if (done && (changed.at("kind") != "PyTorchJob" || changed.at("metadata").at("name") != "a")) {
      std::abort();
    }
  }
  const Schema schema = parse_schema(text, Operator::pytorchjob);
  if (!schema.is_known() && schema.unknown_field(object)) std::abort();
  (void)schema.has("spec.nprocPerNode");
  return 0;
}
