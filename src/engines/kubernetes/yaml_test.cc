#include "engines/kubernetes/yaml.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <random>

namespace toprun::engines::kubernetes {
namespace {

using Json = nlohmann::ordered_json;

// The value that a reader of YAML sees. A quoted text has the tag "!".
Json read(const YAML::Node& node) {
  if (node.IsMap()) {
    Json out = Json::object();
    for (const auto& pair : node) out[pair.first.as<std::string>()] = read(pair.second);
    return out;
  }
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const YAML::Node& inner : node) out.push_back(read(inner));
    return out;
  }
  if (node.Tag() == "!") return node.as<std::string>();
  if (bool truth = false; YAML::convert<bool>::decode(node, truth)) return truth;
  if (std::int64_t number = 0; YAML::convert<std::int64_t>::decode(node, number)) return number;
  if (double number = 0; YAML::convert<double>::decode(node, number)) return number;
  if (node.IsNull()) return nullptr;
  return node.as<std::string>();
}

TEST(Yaml, TextsAreQuotedWhereAnyReaderWouldTakeThemForSomethingElse) {
  for (const auto& [text, written] : std::vector<std::pair<const char*, const char*>>{
           {"train.py", "train.py"},
           {"registry:5000/image:1", "registry:5000/image:1"},
           {"nvidia.com/gpu", "nvidia.com/gpu"},
           {"", "\"\""},
           {"8", "\"8\""},
           {"1e3", "\"1e3\""},
           {"0x1F", "\"0x1F\""},
           {"2026-11-24", "\"2026-11-24\""},
           {"12:30:45", "\"12:30:45\""},
           {".inf", "\".inf\""},
           {"yes", "\"yes\""},
           {"No", "\"No\""},
           {"y", "\"y\""},
           {"OFF", "\"OFF\""},
           {"~", "\"~\""},
           {"null", "\"null\""},
           {"a: b", "\"a: b\""},
           {"key:", "\"key:\""},
           {"a #b", "\"a #b\""},
           {"- a", "\"- a\""},
           {"--lr", "--lr"},
           {"-e", "-e"},
           {"/t.py", "/t.py"},
           {"-", "\"-\""},
           {"---", "\"---\""},
           {"-1", "\"-1\""},
           {"-.inf", "\"-.inf\""},
           {"--on", "--on"},
           {"a\nb\n", "\"a\\nb\\n\""},
           {"tab\there", "\"tab\\there\""},
           {"\"'\\", "\"\\\"'\\\\\""},
           {"caf\u00e9", "\"caf\\xe9\""},
           {"\u2028", "\"\\u2028\""},
           {"\U0001f600", "\"\\U0001f600\""}}) {
    EXPECT_EQ(yaml(Json{{"a", text}}), std::string("a: ") + written + "\n");
  }
}

TEST(Yaml, AnObjectReadsAsOneWould) {
  const Json value = {{"kind", "JobSet"},
                      {"spec", {{"replicas", 4}, {"on", true}, {"empty", Json::object()}}},
                      {"command", {"toprun", "--lr", "1"}}};
  EXPECT_EQ(yaml(value),
            "kind: JobSet\n"
            "spec:\n"
            "  replicas: 4\n"
            "  \"on\": true\n"
            "  empty: {}\n"
            "command:\n"
            "  - toprun\n"
            "  - --lr\n"
            "  - \"1\"\n");
}

// Any nesting of hostile texts, numbers and words comes back as it was.
class RandomValues {
 public:
  Json value(int depth) {
    switch (random_() % (depth > 0 ? 6 : 4)) {
      case 0:
        return static_cast<std::int64_t>(random_() % 100'000) - 50'000;
      case 1:
        return random_() % 2 == 0;
      case 4:
        return list(depth);
      case 5:
        return object(depth);
      default:
        return text();
    }
  }

 private:
  std::string text() {
    static const std::vector<std::string> pieces = {
        "a",    "yes",  "null",   "1",      "0x",         ".",  "e",  ":",  " ", "#",
        "\n",   "\r",   "\t",     "-",      "\x01",       "\"", "'",  "\\", "{", "]",
        "$(A)", "&",    "*",      "!",      "|",          ">",  "%",  "@",  "`", "é",
        "~",    "\x7f", "\u0085", "\u2028", "\U0001f600", "on", "no", "=",  "?"};
    std::string out;
    for (std::size_t left = random_() % 5; left > 0; --left)
      out += pieces[random_() % pieces.size()];
    return out;
  }
  Json list(int depth) {
    Json out = Json::array();
    for (std::size_t left = random_() % 4; left > 0; --left) out.push_back(value(depth - 1));
    return out;
  }
  Json object(int depth) {
    Json out = Json::object();
    for (std::size_t left = random_() % 4; left > 0; --left) out[text()] = value(depth - 1);
    return out;
  }

  std::mt19937 random_{18};
};

TEST(Yaml, WhatIsReadIsWhatWasWritten) {
  RandomValues random;
  for (int i = 0; i < 5'000; ++i) {
    const Json value = Json{{"a", random.value(4)}};
    const std::string text = yaml(value);
    EXPECT_EQ(read(YAML::Load(text)), value) << text;
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
