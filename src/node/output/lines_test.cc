#include "node/output/lines.h"

#include <gtest/gtest.h>

namespace toprun::output {
namespace {

struct StreamStep {
  int stream;         // 0 or 1
  std::string bytes;  // "" flushes
};

std::string shown(const std::string& prefix0, const std::string& prefix1,
                  const std::vector<StreamStep>& steps) {
  Cursor cursor;
  Lines lines[2];
  Display displays[2] = {{0, prefix0, cursor}, {1, prefix1, cursor}};
  std::string out;
  for (const StreamStep& step : steps) {
    Lines& stream = lines[step.stream];
    out +=
        displays[step.stream].compose(step.bytes.empty() ? stream.flush() : stream.add(step.bytes));
  }
  return out;
}

TEST(Lines, AreNeverTorn) {
  struct Case {
    const char* name;
    std::vector<StreamStep> steps;
    std::string plain;
    std::string prefixed;
  };
  const std::vector<Case> cases = {
      {"halves of two streams",
       {{0, "aa"}, {1, "bb"}, {0, "aa\n"}, {1, "bb\n"}},
       "aaaa\nbbbb\n",
       "0:aaaa\n1:bbbb\n"},
      {"several at once",
       {{0, "a\nb\nc"}, {1, "d\n"}, {0, "\n"}},
       "a\nb\nd\nc\n",
       "0:a\n0:b\n1:d\n0:c\n"},
      {"empty lines", {{0, "\n\n"}}, "\n\n", "0:\n0:\n"},
      {"an unfinished line stays open for its own stream",
       {{0, "a"}, {0, ""}, {0, "b\n"}},
       "ab\n",
       "0:ab\n"},
      {"and another stream starts below it",
       {{0, "a"}, {0, ""}, {1, "b\n"}, {0, "c\n"}},
       "a\nb\nc\n",
       "0:a\n1:b\n0:c\n"},
      {"progress bars pass as they come", {{0, "1%\r"}, {0, "2%\r"}}, "1%\r2%\r", "0:1%\r0:2%\r"},
      {"both ends in one", {{0, "a\r\nb\r\n"}}, "a\r\nb\r\n", "0:a\r\n0:b\r\n"},
      {"both ends in two reads", {{0, "a\r"}, {0, "\nb\n"}}, "a\r\nb\n", "0:a\r\n0:b\n"},
      {"flushing nothing", {{0, ""}, {1, "b\n"}}, "b\n", "1:b\n"},
      {"a NUL is a byte as any",
       {{0, std::string("a\0b\n", 4)}},
       std::string("a\0b\n", 4),
       std::string("0:a\0b\n", 6)},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(shown("", "", c.steps), c.plain) << c.name;
    EXPECT_EQ(shown("0:", "1:", c.steps), c.prefixed) << c.name;
  }
}

TEST(Lines, HoldNoMoreThanTheLimit) {
  Lines lines;
  std::size_t out = 0;
  const std::string piece(1000, 'x');
  for (int i = 0; i < 1000; ++i) out += lines.add(piece).size();
  EXPECT_GE(out + Lines::longest_held_bytes, 1'000'000u);
  EXPECT_EQ(out + lines.flush().size(), 1'000'000u);
}

TEST(Lines, EndAtTheFirstOfBothWhereverItStands) {
  for (std::size_t before = 0; before < 1100; ++before) {
    const std::string text(before, 'x');
    for (const std::string end : {"\n", "\r", "\r\n"}) {
      EXPECT_EQ(end_of_first_line(text + end + "next\r\n"), before + end.size()) << before;
      EXPECT_EQ(end_of_first_line(text + end), before + end.size()) << before;
    }
    EXPECT_EQ(end_of_first_line(text), before);
  }
}

}  // namespace
}  // namespace toprun::output
