#include "engines/kubernetes/patch.h"

#include <gtest/gtest.h>

#include "engines/kubernetes/yaml.h"

namespace toprun::engines::kubernetes {
namespace {

using Json = nlohmann::ordered_json;

Json job_object() {
  return Json::parse(
      R"({"apiVersion": "v1", "kind": "Job", "metadata": {"name": "a", "labels": {"x": "1"}},
    "spec": {"containers": [{"name": "node", "env": [{"name": "A", "value": "1"}],
                             "volumeMounts": [{"name": "m", "mountPath": "/m"}]}],
             "tolerations": [{"key": "old"}], "volumes": [{"name": "m", "emptyDir": {}}]}})");
}

// The object after the patch, or the error's line.
Json patched(std::string_view yaml) {
  Json object = job_object();
  const auto patch = parse_yaml_value(yaml, "p.yaml");
  if (!patch) return patch.error().line();
  const auto done = apply_patch(object, *patch, "p.yaml");
  return done ? object : Json(done.error().line());
}

TEST(Patch, WhatIsLikelyMisspelt) {
  const auto doubts = [](std::string_view yaml) {
    return doubtful_fields(job_object(), parse_yaml_value(yaml, "p.yaml").value());
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(doubts("spce: {}"), Lines{"spce: no object has such a field; did you mean spec?"});
  EXPECT_EQ(doubts("replicas: 3"), Lines{"replicas: no object has such a field"});
  EXPECT_EQ(doubts("spec: {tolerations: [], toleration: []}"),
            Lines{"spec.toleration: the job's object does not have this field yet; did you mean "
                  "tolerations?"});
  EXPECT_EQ(
      doubts("spec: {containers: [{name: node, volumeMount: []}]}"),
      Lines{
          "spec.containers[0].volumeMount: the job's object does not have this field yet; did you "
          "mean volumeMounts?"});
  EXPECT_EQ(
      doubts("metadata: {label: {x: a}}"),
      Lines{"metadata.label: the job's object does not have this field yet; did you mean labels?"});
  EXPECT_EQ(
      doubts("{metadata: {labels: {xx: a}}, spec: {hostPID: true, hostIPC: true, suspend: "
             "true, containers: [{name: b, imag: c}], volumes: [{name: m, $patch: delete}]}}"),
      Lines{});
}

TEST(Patch, MapsAndListsAreMergedAsKubernetesDoes) {
  const Json object = patched(R"(
metadata:
  labels: {y: "2"}
spec:
  priority: 5
  containers:
  - name: node
    env:
    - {name: B, value: "2"}
    - {name: A, value: "3"}
    volumeMounts:
    - {mountPath: /m, readOnly: true}
  - name: side
    image: b
  tolerations:
  - key: new
  volumes:
  - {name: m, $patch: delete}
  - name: more
    emptyDir: {}
)");
  EXPECT_EQ(object["metadata"]["labels"], Json::parse(R"({"x": "1", "y": "2"})"));
  EXPECT_EQ(object["spec"]["priority"], 5);
  const Json& node = object["spec"]["containers"][0];
  EXPECT_EQ(node["env"],
            Json::parse(R"([{"name": "A", "value": "3"}, {"name": "B", "value": "2"}])"));
  EXPECT_EQ(node["volumeMounts"],
            Json::parse(R"([{"name": "m", "mountPath": "/m", "readOnly": true}])"));
  EXPECT_EQ(object["spec"]["containers"][1], Json::parse(R"({"name": "side", "image": "b"})"));
  EXPECT_EQ(object["spec"]["tolerations"], Json::parse(R"([{"key": "new"}])"));
  EXPECT_EQ(object["spec"]["volumes"], Json::parse(R"([{"name": "more", "emptyDir": {}}])"));
}

TEST(Patch, WhatIsTakenAwayAndReplaced) {
  EXPECT_FALSE(patched("{spec: {volumes: null}}")["spec"].contains("volumes"));
  EXPECT_EQ(patched("{spec: {$patch: replace, a: 1}}")["spec"], Json::parse(R"({"a": 1})"));
  EXPECT_EQ(patched("{spec: {volumes: [{$patch: replace}, {name: z}]}}")["spec"]["volumes"],
            Json::parse(R"([{"name": "z"}])"));
  EXPECT_EQ(patched("{metadata: {labels: {$patch: delete}}}")["metadata"]["labels"],
            Json::object());
}

TEST(Patch, RefusesWhatItCannotDo) {
  for (const auto& [yaml, said] : std::vector<std::pair<const char*, const char*>>{
           {"[a]", "p.yaml: it is not a map"},
           {"kind: Pod",
            "p.yaml: kind: this value differs from the value in this job's object, Job"},
           {"kind: null", "p.yaml: kind: this value differs"},
           {"$patch: replace", "p.yaml: apiVersion: this value differs"},
           {"$patch: delete", "p.yaml: apiVersion: this value differs"},
           {"metadata: null", "p.yaml: metadata.name: a patch may not change this field"},
           {"metadata: 5", "p.yaml: metadata.name: a patch may not change this field"},
           {"metadata: {name: 5}", "p.yaml: metadata.name: a patch may not change this field"},
           {"metadata: {name: b}", "p.yaml: metadata.name: a patch may not change this field"},
           {"metadata: {namespace: b}", "p.yaml: metadata.namespace: a patch may not"},
           {"spec: {containers: [{image: b}]}",
            "p.yaml: spec.containers[0]: the element needs a name"},
           {"spec: {containers: [b]}", "p.yaml: spec.containers[0]: it is not a map"},
           {"spec: {$retainKeys: [a]}", "p.yaml: spec: unknown directive $retainKeys"},
           {"spec: {$patch: add}", "p.yaml: spec: $patch must be"},
           {"a: [", "p.yaml:"},
           {"a: 1\na: 2", "p.yaml:2:1: the key a appears twice"},
           {"a: 1\n---\nb: 1", "p.yaml: the file contains several documents"},
           {",\n2", "p.yaml"}}) {
    const Json result = patched(yaml);
    ASSERT_TRUE(result.is_string()) << yaml;
    EXPECT_TRUE(result.get<std::string>().starts_with(said)) << result;
  }
}

TEST(YamlValue, TypesAreThoseOfYaml11) {
  const auto value = parse_yaml_value(
      "{a: 1, b: '1', c: yes, d: \"yes\", e: ~, f: 0x1f, g: 010, h: 1.5, i: text, j: 12:30, k: -3,"
      " l: 1.2.3, m: [on, OFF], n: ''}",
      "f");
  ASSERT_TRUE(value) << value.error().line();
  EXPECT_EQ(*value, Json::parse(R"({"a": 1, "b": "1", "c": true, "d": "yes", "e": null, "f": 31,
    "g": 8, "h": 1.5, "i": "text", "j": "12:30", "k": -3, "l": "1.2.3", "m": [true, false],
    "n": ""})"));
  const auto json = parse_yaml_value("{\"a\": [1, \"2\", true, null, {\"b\": 1.5}]}", "f");
  ASSERT_TRUE(json);
  EXPECT_EQ(*json, Json::parse(R"({"a": [1, "2", true, null, {"b": 1.5}]})"));
}

TEST(YamlValue, OneDocumentMayHaveItsMark) {
  for (const char* text : {"---\na: 1\n", "# words\n--- \na: 1\n...\n", "a: 1", "--- {a: 1}"}) {
    const auto value = parse_yaml_value(text, "f");
    ASSERT_TRUE(value) << text << value.error().line();
    EXPECT_EQ(*value, Json::parse(R"({"a": 1})")) << text;
  }
}

TEST(YamlValue, HasBounds) {
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 20; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_FALSE(parse_yaml_value(bomb, "f"));
  EXPECT_FALSE(parse_yaml_value(std::string(1000, '['), "f"));
  EXPECT_FALSE(parse_yaml_value(std::string(most_yaml_bytes + 1, 'a'), "f"));
  EXPECT_TRUE(parse_yaml_value("", "f")->is_null());
}

}  // namespace
}  // namespace toprun::engines::kubernetes
