#include "decide/recorder/pickle.h"

#include <gtest/gtest.h>

#include "base/os/os_testing.h"
#include "decide/recorder/recorder_testing.h"

namespace toprun::recorder {
namespace {

using Json = nlohmann::json;
using namespace std::string_literals;

TEST(Pickle, GivesPlainData) {
  // As pickle.dumps(…, protocol=2) and PyTorch write them.
  const std::pair<std::string, Json> rows[] = {
      {"\x80\x02N."s, nullptr},
      {"\x80\x02\x88."s, true},
      {"\x80\x02K\x07."s, 7},
      {"\x80\x02M\x00\x01."s, 256},
      {"\x80\x02J\xfe\xff\xff\xff."s, -2},
      {"\x80\x02\x8a\x05\x00\x00\x00\x00\x01."s, 4294967296},
      {"\x80\x02\x8a\x01\xff."s, -1},
      {"\x80\x02\x8a\x00."s, 0},
      {"\x80\x02G?\xf8\x00\x00\x00\x00\x00\x00."s, 1.5},
      {"\x80\x02X\x02\x00\x00\x00hi."s, "hi"},
      {"\x80\x02]q\x00(K\x01K\x02"
       "e."s,
       {1, 2}},
      {"\x80\x02]K\x01"
       "a."s,
       Json::array({1})},
      {"\x80\x02K\x01K\x02\x86."s, {1, 2}},
      {"\x80\x02(K\x01K\x02K\x03K\x04t."s, {1, 2, 3, 4}},
      {"\x80\x02}X\x01\x00\x00\x00"
       "aK\x01s."s,
       {{"a", 1}}},
      {"\x80\x02}(K\x07K\x01u."s, {{"7", 1}}},
      {"\x80\x02](X\x01\x00\x00\x00"
       "aq\x01h\x01"
       "e."s,
       {"a", "a"}},
      // As Python's pickler writes [a, a, (a, a)] with a = [7]: remembered while it is empty.
      {"\x80\x02](]q\x01K\x07"
       "ah\x01h\x01h\x01\x86"
       "e."s,
       {{7}, {7}, {{7}, {7}}}},
      {"\x80\x02]q\x01K\x07"
       "ah\x01\x86."s,
       {{7}, {7}}},
  };
  for (const auto& [bytes, expected] : rows) {
    const auto value = parse_pickle(bytes);
    ASSERT_TRUE(value) << expected << ": " << value.error().line();
    EXPECT_EQ(*value, expected);
  }
  const Json document = {{"a", {1, -5, "x", nullptr, true}}, {"b", {{"c", "x"}}}};
  EXPECT_EQ(parse_pickle(Pickler::write(document)), document);
}

TEST(Pickle, RefusesWhatIsNoData) {
  const std::pair<std::string, const char*> rows[] = {
      {""s, "the dump does not begin with the header of pickle protocol 2"},
      {"\x80\x04N."s, "the dump does not begin with the header of pickle protocol 2"},
      {"\x80\x02"s, "it ends too early"},
      {"\x80\x02X\xff\xff\xff\xffhi."s, "it ends too early"},
      {"\x80\x02"s + "cos\nsystem\n."s, "opcode 0x63 is not plain data"},
      {"\x80\x02)R."s, "opcode 0x52 is not plain data"},
      {"\x80\x02}q\x01q\x02h\x01\x86."s, "a value is remembered twice"},
      {"\x80\x02](]q\x01]q\x01h\x01"
       "e."s,
       "a value is remembered twice"},
      {"\x80\x02}b."s, "opcode 0x62 is not plain data"},
      {"\x80\x02."s, "the dump does not contain exactly one value"},
      {"\x80\x02NN."s, "the dump does not contain exactly one value"},
      {"\x80\x02(N."s, "the dump does not contain exactly one value"},
      {"\x80\x02"
       "e."s,
       "a mark is missing"},
      {"\x80\x02(Ne."s, "values without a list or dict for them"},
      {"\x80\x02}N(a."s, "a value is missing"},
      {"\x80\x02}(Nu."s, "a key without a value"},
      {"\x80\x02}(NNu."s, "a key is neither text nor number"},
      {"\x80\x02h\x01."s, "a value that was never given"},
      {"\x80\x02q\x01."s, "nothing to remember"},
      {"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s, "a number is too large"},
  };
  for (const auto& [bytes, why] : rows) {
    const auto value = parse_pickle(bytes);
    ASSERT_FALSE(value) << why;
    EXPECT_EQ(value.error()->why, why);
  }
}

TEST(Pickle, IsBounded) {
  if (emulated()) GTEST_SKIP() << "tens of MB, for which an emulator takes minutes";
  // Lists in lists, and a list of two copies of the one before, fifty times.
  EXPECT_EQ(
      parse_pickle("\x80\x02" + std::string(1'000, ']') + std::string(999, 'a') + ".").error()->why,
      "it is nested too deeply");
  std::string doubling = "\x80\x02]q"s + '\0';
  for (char i = 0; i < 50; ++i) {
    doubling += "](h"s + i + "h" + i + "eq" + static_cast<char>(i + 1);
  }
  EXPECT_EQ(parse_pickle(doubling + ".").error()->why, "it has too many values");
}

}  // namespace
}  // namespace toprun::recorder
