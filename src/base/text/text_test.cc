#include "base/text/text.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(words("  a\tb \n"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(trim(" x \r\n"), "x");
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_int("-12"), -12);
  for (const char* bad : {"", "+1", " 1", "1 ", "1x", "99999999999999999999"}) {
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
  }
}

TEST(Text, NaturalOrderIsWhatPeopleExpect) {
  const std::vector<std::pair<std::string, std::string>> ascending = {
      {"n2", "n10"}, {"n9", "n10"},     {"a", "b"},
      {"n1", "n1a"}, {"n01", "n1"},     {"", "a"},
      {"1", "a"},    {"a1b2", "a1b10"}, {"n99999999999999999999", "n100000000000000000000"}};
  for (const auto& [a, b] : ascending) {
    EXPECT_TRUE(natural_less(a, b)) << a << " < " << b;
    EXPECT_FALSE(natural_less(b, a)) << b << " < " << a;
  }
  EXPECT_FALSE(natural_less("n1", "n1"));
}

TEST(Text, SuggestsOnlyNearWords) {
  const std::vector<std::string> flags = {"--nnodes", "--nproc-per-node", "--order"};
  EXPECT_EQ(did_you_mean("--nnode", flags), "--nnodes");
  EXPECT_EQ(did_you_mean("--ordre", flags), "--order");
  EXPECT_EQ(did_you_mean("--zebra", flags), std::nullopt);
  EXPECT_EQ(did_you_mean("v3", std::vector<std::string>{"v1", "v2"}), std::nullopt);
}

TEST(Text, GuessesNoNumber) {
  const std::vector<std::string> hosts = {"node0", "node1", "node12"};
  EXPECT_EQ(did_you_mean("node9", hosts), std::nullopt);
  EXPECT_EQ(did_you_mean("nodde0", hosts), "node0");
  EXPECT_EQ(did_you_mean("node9", std::vector<std::string>{"node0"}), "node0");
}

TEST(Text, LettersThatChangedPlacesAreOneSlip) {
  const std::vector<std::string> keys = {"env", "mem", "qos", "link"};
  EXPECT_EQ(did_you_mean("evn", keys), "env");
  EXPECT_EQ(did_you_mean("lnik", keys), "link");
  EXPECT_EQ(did_you_mean("vne", keys), std::nullopt);
}

TEST(Text, PrintableKeepsOneLine) {
  const struct {
    std::string_view text, shown;
  } rows[] = {
      {"a\nb\x01", "a\\nb\\x01"},
      {"\033[31mred", "\\x1b[31mred"},
      {"räck-東京 …", "räck-東京 …"},
      {"a\xff\xc3", "a\\xff\\xc3"},    // no UTF-8
      {"\u009b31m", "\\xc2\\x9b31m"},  // C1's short form of an escape
      {"a\u202e"
       "b",
       "a\\xe2\\x80\\xae"
       "b"},  // turns the direction
  };
  for (const auto& [text, shown] : rows) EXPECT_EQ(printable(text), shown);
}

TEST(Text, QuotesForTheShell) {
  const std::vector<std::string> argv = {"a", "b c", "it's", ""};
  EXPECT_EQ(shell_quote(argv), "a 'b c' 'it'\\''s' ''");
}

TEST(Text, TheFirstLineIsTheFirstThatIsNotBlank) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""}, {"\n \n", ""}, {"E: a", "E: a"}, {"E: a\nb\nc", "E: a"}, {"\n  E \r\nb", "E"}};
  for (const auto& [text, line] : cases) EXPECT_EQ(first_line(text), line);
}

}  // namespace
}  // namespace toprun
