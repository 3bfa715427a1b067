#include "base/json/json_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace toprun {
namespace {

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(JsonText, WhatWouldTakeFarMoreMemoryThanItsTextIsNotBuilt) {
  if (::getenv("EMULATED") != nullptr)
    GTEST_SKIP() << "tens of MB, for which an emulator takes minutes";
  EXPECT_TRUE(json_in("[" + repeated("[],", 5'000'000) + "0]").is_discarded());
  EXPECT_TRUE(json_in("[" + repeated("{},", 5'000'000) + "0]").is_discarded());
  EXPECT_TRUE(json_in(std::string(1'000, '[') + std::string(1'000, ']')).is_discarded());
  const JsonLimits few{.values = 1'000};
  EXPECT_TRUE(json_in("[" + repeated("0,", 5'000) + "0]", few).is_discarded());
  EXPECT_FALSE(json_in("[" + repeated("0,", 1'000) + "0]", few).is_discarded());
}

TEST(JsonText, WhatIsLargeIsBuilt) {
  if (::getenv("EMULATED") != nullptr)
    GTEST_SKIP() << "tens of MB, for which an emulator takes minutes";
  EXPECT_EQ(json_in("[" + repeated("0,", 1'000'000) + "0]").size(), 1'000'001u);
  EXPECT_EQ(json_in("[" + repeated("[1,2],", 200'000) + "0]").size(), 200'001u);
  const std::string node = R"({"name": "n123456", "first_rank": 1234567, "nproc": 8},)";
  EXPECT_EQ(json_in("[" + repeated(node, 500'000) + "0]").size(), 500'001u);
}

TEST(JsonText, BracketsInTextsDoNotCount) {
  const std::string brackets = repeated("[{,", 400'000);
  EXPECT_EQ(json_in("\"" + brackets + "\"", JsonLimits{.values = 0}), brackets);
  EXPECT_EQ(json_in(R"(["\"[[[", "\\"])", JsonLimits{.depth = 1}).size(), 2u);
}

TEST(JsonText, WhatIsNotJsonIsDiscarded) {
  for (const char* text : {"", "\"", "\"\\", "[", "]", "[}", "\"\\\"", "{\"a\":"}) {
    EXPECT_TRUE(json_in(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace toprun
