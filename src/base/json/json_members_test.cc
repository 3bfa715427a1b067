#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"

namespace toprun {
namespace {

TEST(JsonMembers, WhatIsMissingIsNothing) {
  const nlohmann::json object = {{"text", "x"}, {"number", 7}};
  EXPECT_EQ(member(object, "number"), 7);
  EXPECT_TRUE(member(object, "other").is_null());
  EXPECT_TRUE(member(nlohmann::json::array(), "text").is_null());
  EXPECT_EQ(text_at(object, "text"), "x");
  EXPECT_EQ(text_at(object, "number"), "");
  EXPECT_EQ(text_at(nlohmann::json(), "text"), "");
}

}  // namespace
}  // namespace toprun
