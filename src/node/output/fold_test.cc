#include <gtest/gtest.h>

#include "node/output/folding.h"

namespace toprun::output {
namespace {

using namespace std::chrono_literals;

struct Step {
  int rank;  // look: only advances the time; end: rank `lines` leaves
  std::string lines;
  std::chrono::milliseconds at = 0ms;
};
constexpr int look = -1;
constexpr int end = -2;

// The folded output of three ranks, with
//
// between outputs at different times.
std::string shown(const std::vector<Step>& steps) {
  Fold fold;
  for (const int rank : {0, 1, 2}) fold.join(rank);
  std::string out;
  for (const Step& step : steps) {
    const SteadyTime now = SteadyTime{} + 1h + step.at;
    if (step.rank == end) fold.leave(std::stoi(step.lines));
    if (step.rank >= 0) fold.add(step.rank, step.lines, now);
    out += fold.take(now) + "|";
  }
  return out;
}

TEST(Fold, ShowsOnceWhatRanksSayAlike) {
  struct Case {
    const char* name;
    std::vector<Step> steps;
    std::string shown;
  };
  const std::vector<Case> cases = {
      {"all at once", {{0, "a\n"}, {2, "a\n"}, {1, "a\n"}}, "||[ranks 0-2] a\n|"},
      {"some within the window",
       {{0, "a\n"}, {2, "a\n", 99ms}, {look, "", 100ms}},
       "||[ranks 0,2] a\n|"},
      {"one too late",
       {{0, "a\n"}, {look, "", 100ms}, {1, "a\n", 100ms}, {look, "", 200ms}},
       "|[rank 0] a\n||[rank 1] a\n|"},
      {"the same line twice is two lines",
       {{0, "a\na\n"}, {1, "a\n"}, {look, "", 100ms}},
       "||[ranks 0-1] a\n[rank 0] a\n|"},
      {"what nobody can join any more does not wait",
       {{0, "a\n"}, {1, "b\n"}, {2, "c\n"}, {0, "d\n"}, {1, "d\n"}, {2, "d\n"}},
       "||[rank 0] a\n|[rank 1] b\n|[rank 2] c\n|[ranks 0-2] d\n|"},
      {"order within a rank is kept",
       {{0, "a\nb\n"}, {1, "b\na\n"}, {look, "", 100ms}},
       "||[rank 0] a\n[ranks 0-1] b\n[rank 1] a\n|"},
      {"nobody waits for a rank that has ended",
       {{0, "a\n"}, {1, "a\n"}, {end, "2"}},
       "||[ranks 0-1] a\n|"},
      {"nor at the end for anybody",
       {{0, "a\n"}, {end, "0"}, {end, "1"}, {end, "2"}},
       "|||[rank 0] a\n|"},
      {"every kind of end is kept, and one is added",
       {{0, "1%\r2%\r\n\nx"}, {look, "", 100ms}},
       "|[rank 0] 1%\r[rank 0] 2%\r\n[rank 0] \n[rank 0] x\n|"},
      {"lines that differ in their end are different",
       {{0, "a\n"}, {1, "a\r\n"}, {look, "", 100ms}},
       "||[rank 0] a\n[rank 1] a\r\n|"},
  };
  for (const Case& c : cases) EXPECT_EQ(shown(c.steps), c.shown) << c.name;
}

TEST(Fold, SaysWhenItHasSomething) {
  Fold fold;
  fold.join(0);
  fold.join(1);
  const SteadyTime now = SteadyTime{} + 1h;
  EXPECT_EQ(fold.due(), std::nullopt);
  fold.add(0, "a\n", now);
  fold.add(0, "b\n", now + 10ms);
  EXPECT_EQ(fold.due(), now + Fold::window);
  EXPECT_EQ(fold.take(now + Fold::window), "[rank 0] a\n");
  EXPECT_EQ(fold.due(), now + 10ms + Fold::window);
}

TEST(Fold, HoldsNoMoreThanTheLimitAndLosesNothing) {
  Fold fold;
  fold.join(0);
  fold.join(1);
  const SteadyTime now = SteadyTime{} + 1h;
  const std::string line = std::string(99, 'x') + "\n";
  constexpr int lines = 100'000;
  std::size_t given = 0;
  std::size_t shown = 0;
  for (int i = 0; i < lines; ++i) {
    fold.add(0, line, now);
    given += line.size() + std::string("[rank 0] ").size();
    shown += fold.take(now).size();
    ASSERT_LE(given - shown, Fold::most_held_bytes);
  }
  EXPECT_GT(shown, 0u);
  fold.leave(0);
  fold.leave(1);
  shown += fold.take(now).size();
  EXPECT_EQ(shown, given);
}

// Checks that each rank's lines stay whole and in order, whatever the arrival order of many ranks.
TEST(Fold, KeepsTheLinesOfEachRankInOrder) {
  constexpr int ranks = 40;
  constexpr int lines = 200;
  Fold fold;
  for (int rank = 0; rank < ranks; ++rank) fold.join(rank);
  std::vector<int> said(ranks);
  std::string out;
  std::uint32_t random = 12345;
  for (int left = ranks * lines; left > 0;) {
    random = random * 1664525 + 1013904223;
    const int rank = static_cast<int>((random >> 8) % ranks);
    int& line = said[static_cast<std::size_t>(rank)];
    if (line == lines) continue;
    const bool own = line % 3 == 0;
    fold.add(rank, fmt::format("{}{}\n", own ? fmt::format("own{} ", rank) : "", line++),
             SteadyTime{} + 1h);
    --left;
    out += fold.take(SteadyTime{} + 1h);
  }
  for (int rank = 0; rank < ranks; ++rank) fold.leave(rank);
  out += fold.take(SteadyTime{} + 1h);

  std::map<int, int> next;
  std::size_t shown_lines = 0;
  for (std::string_view rest = out; !rest.empty(); ++shown_lines) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(line.size() + 1);
    const std::size_t text = line.find("] ") + 2;
    const int number = std::stoi(line.substr(line.rfind(' ')));
    std::string set = line.substr(line.find(' ') + 1, text - 2 - line.find(' ') - 1) + ",";
    for (; !set.empty(); set.erase(0, set.find(',') + 1)) {
      const int first = std::stoi(set);
      const std::string piece = set.substr(0, set.find(','));
      const std::size_t dash = piece.find('-');
      const int last = dash == std::string::npos ? first : std::stoi(piece.substr(dash + 1));
      for (int rank = first; rank <= last; ++rank) ASSERT_EQ(number, next[rank]++) << line;
    }
  }
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(next[rank], lines) << rank;
  EXPECT_LT(shown_lines, static_cast<std::size_t>(ranks * lines));
}

}  // namespace
}  // namespace toprun::output
