#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"

namespace toprun {
namespace {

TEST(JsonWriter, TextsComeBackAsTheyWere) {
  for (const char* text : {"", "plain", "\"quoted\"", "back\\slash", "\n\t\x01", "Zürich"}) {
    const std::string json = JsonWriter().text(text).take();
    EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text) << json;
  }
}

TEST(JsonWriter, WhatIsNoUtf8IsReplaced) {
  const std::string json = JsonWriter().text("n\xff").take();
  EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), "n\xEF\xBF\xBD");
}

TEST(JsonWriter, NumbersNullsAndLists) {
  JsonWriter json;
  json.raw("[").number(0).raw(", ").number(std::numeric_limits<std::size_t>::max());
  json.raw(", ").optional(std::nullopt).raw(", ").optional("x").raw(", ").texts({}).raw(", ");
  json.texts({"a", "b"}).raw("]");
  EXPECT_EQ(json.take(), R"([0, 18446744073709551615, null, "x", [], ["a", "b"]])");
}

}  // namespace
}  // namespace toprun
