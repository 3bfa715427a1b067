#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engines/kubernetes/manifest.h"
#include "engines/kubernetes/operators.h"

namespace toprun::engines::kubernetes {
namespace {

// As the API server prints it (OpenAPI v3), with these properties of the spec.
std::string published(std::string_view kind, std::string_view properties) {
  return fmt::format(
      R"({{"components": {{"schemas": {{
        "List": {{"x-kubernetes-group-version-kind": [{{"kind": "{0}List"}}], "properties": {{}}}},
        "It": {{"x-kubernetes-group-version-kind": [{{"group": "g", "kind": "{0}", "version": "v1"}}],
               "properties": {{"spec": {{"type": "object", "properties": {{{1}}}}}}}}}}}}}}})",
      kind, properties);
}

constexpr std::string_view anything = R"({"x-kubernetes-preserve-unknown-fields": true})";

TEST(Schema, TellsWhichFieldsThereAre) {
  const Schema schema = parse_schema(
      published("TrainJob",
                fmt::format(R"("trainer": {0}, "runtimeRef": {{"properties": {{"name": {{}}}}}},
                   "podSpecOverrides": {{"items": {{"properties": {{"targetJobs": {0}}}}}}},
                   "labels": {{"additionalProperties": {{"type": "string"}}}})",
                            anything)),
      Operator::trainjob);
  ASSERT_TRUE(schema.is_known());
  EXPECT_TRUE(schema.has("spec.podSpecOverrides"));
  EXPECT_TRUE(schema.has("spec.trainer.whatever.else"));
  EXPECT_FALSE(schema.has("spec.runtimePatches"));
  using Json = nlohmann::ordered_json;
  const auto unknown = [&](const char* spec) {
    return schema.unknown_field(Json{{"kind", "TrainJob"}, {"spec", Json::parse(spec)}})
        .value_or("none");
  };
  EXPECT_EQ(unknown(R"({"trainer": {"a": 1}, "labels": {"x": "y"}})"), "none");
  EXPECT_EQ(unknown(R"({"runtimePatches": []})"), "spec.runtimePatches");
  EXPECT_EQ(unknown(R"({"runtimeRef": {"kind": "a"}})"), "spec.runtimeRef.kind");
  EXPECT_EQ(unknown(R"({"podSpecOverrides": [{"targetJobs": []}, {"metadata": {}}]})"),
            "spec.podSpecOverrides[1].metadata");
}

TEST(Schema, KnowsNothingOfWhatIsNotThere) {
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("<html>"),
        std::string(R"({"components": {"schemas": 5}})"), published("PyTorchJob", "")}) {
    const Schema schema = parse_schema(text, Operator::trainjob);
    EXPECT_FALSE(schema.is_known()) << text;
    EXPECT_TRUE(schema.has("spec.runtimePatches"));
    EXPECT_EQ(schema.unknown_field({{"spec", {{"a", 1}}}}), std::nullopt);
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
