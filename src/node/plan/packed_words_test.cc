#include "node/plan/packed_words.h"

#include <gtest/gtest.h>

#include <random>

namespace toprun::plan {
namespace {

using Words = std::vector<std::string>;

Words there_and_back(const Words& argv) {
  const auto packed = pack_words(argv);
  if (!packed || packed->size() != 3) return {};
  const auto unpacked = unpack_words((*packed)[2]);
  return unpacked ? *unpacked : Words{};
}

TEST(PackedWords, ComeBackByteForByte) {
  for (const Words& argv :
       {Words{"toprun"}, Words{"toprun", ""}, Words{"toprun", "", "a b", "$(X)"},
        Words{"/opt/toprun", "\xff\xfe", "\n", "'\"\\"}}) {
    EXPECT_EQ(there_and_back(argv), argv);
  }
  std::mt19937 chance(18);  // NOLINT: the same words in each run
  for (int i = 0; i < 1'000; ++i) {
    Words argv{"toprun"};
    for (std::size_t word = chance() % 5; word > 0; --word) {
      std::string text(chance() % 20, '\0');
      for (char& c : text) c = static_cast<char>(1 + chance() % 255);
      argv.push_back(std::move(text));
    }
    EXPECT_EQ(there_and_back(argv), argv);
  }
}

TEST(PackedWords, NeedNoQuotes) {
  const auto packed = pack_words({"toprun", "$(A) \"b\" 'c',d"});
  ASSERT_TRUE(packed);
  EXPECT_EQ((*packed)[1], packed_word);
  EXPECT_EQ((*packed)[2].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789-_"),
            std::string::npos);
}

TEST(PackedWords, RefuseWhatIsNoneAndWhatIsTooLong) {
  for (const std::string_view text : {"", "=", "dG9wcnVu", "not packed", "AA=="}) {
    EXPECT_FALSE(unpack_words(text)) << text;
  }
  EXPECT_FALSE(pack_words({"toprun", std::string(max_packed_bytes, 'x')}));
}

}  // namespace
}  // namespace toprun::plan
