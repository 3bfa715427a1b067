#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/text/clock.h"
#include "base/text/text.h"
#include "observe/top/cells.h"
#include "observe/top/frame.h"
#include "observe/top/keys.h"
#include "observe/top/row_tree.h"

namespace toprun::top {
namespace {

using snapshot::Picture;
using snapshot::RankState;
using Code = Key::Code;
using Lines = std::vector<std::string>;
using std::chrono::seconds;

constexpr TerminalSize usual{.columns = 80, .rows = 24};
constexpr Style no_colours{};

// Racks of two nodes each.
Picture job(std::size_t nodes, std::size_t ranks_each) {
  Picture picture;
  picture.run.job = "train";
  picture.stage = "running";
  picture.run.started = WallTime() + seconds(1);
  picture.now = picture.run.running_at = picture.run.started + seconds(75);
  for (std::size_t node = 0; node < nodes; ++node) {
    Picture::Node one;
    one.name = "n" + std::to_string(node);
    one.location = "/rack" + std::to_string(node / 2) + "/" + one.name.raw();
    one.first_rank = node * ranks_each;
    one.ranks = ranks_each;
    picture.nodes.push_back(one);
  }
  picture.ranks.resize(nodes * ranks_each);
  for (Picture::Rank& rank : picture.ranks) rank.state = RankState::runs;
  return picture;
}

model::AttemptRecord& last_of(Picture& picture) {
  auto& attempts = picture.run.attempts;
  return attempts.empty() ? attempts.emplace_back() : attempts.back();
}

void fail_with(Picture& picture, int attempt, std::string what, std::string message = {}) {
  model::AttemptRecord& failed = picture.run.attempts.emplace_back();
  failed.attempt = attempt;
  model::Cause& cause = failed.cause.emplace();
  cause.message = std::move(message);
  cause.what = std::move(what);
}

void hang_with(Picture& picture, std::string what) {
  model::Hang& hang = last_of(picture).hang.emplace();
  hang.verdict.what = std::move(what);
}

Lines names(const Picture& picture, const State& state, std::size_t lines) {
  Lines all;
  const Tree tree = tree_of(picture);
  for (const Row& row : rows_of(picture, tree, state.sort, state.folds, lines)) {
    const std::string mark = row.item.kind == Kind::rank ? "" : row.is_open ? "-" : "+";
    const char kind = row.item.kind == Kind::rack ? 'k' : row.item.kind == Kind::node ? 'n' : 'r';
    all.push_back(std::string(row.depth, ' ') + mark + kind + std::to_string(row.item.number));
  }
  return all;
}

State press(State state, const Picture& picture, std::string_view letters) {
  for (const char letter : letters) {
    const Key key = letter == '\n' ? Key{Code::enter} : Key{Code::text, letter};
    state = after(std::move(state), key, picture, 20);
  }
  return state;
}

std::string text_of(const Frame& frame) {
  std::string text;
  for (const std::string& line : frame.lines) text += line + '\n';
  return text;
}

TEST(Tree, WhatFitsIsUnfolded) {
  const Picture picture = job(3, 2);
  EXPECT_EQ(names(picture, {}, 11), Lines({"-k0", " -n0", "  r0", "  r1", " -n1", "  r2", "  r3",
                                           "-k1", " -n2", "  r4", "  r5"}));
  EXPECT_EQ(names(picture, {}, 10), Lines({"-k0", " +n0", " +n1", "-k1", " +n2"}));
  EXPECT_EQ(names(picture, {}, 4), Lines({"+k0", "+k1"}));
}

TEST(Frame, ARanksProcessAndLastLines) {
  Picture picture = job(2, 2);
  picture.ranks[3].pid = 4711;
  picture.ranks[3].line = "step 3";
  picture.ranks[3].lines = {"step 2", "step 3"};
  State state = press({}, picture, "/3\n");
  state.shows_rank = true;
  const std::string text = text_of(frame(picture, state, usual, no_colours));
  EXPECT_TRUE(text.contains("process    pid 4711\n")) << text;
  EXPECT_TRUE(text.contains("last line  step 3\n")) << text;
  EXPECT_TRUE(text.contains("last lines\n      step 2\n      step 3\n")) << text;
}

TEST(Frame, WhereAHangingRankStands) {
  Picture picture = job(2, 2);
  picture.ranks[3].state = RankState::suspect;
  picture.hang_places = {
      {"0-2", "waits in all_reduce, hang.py:8 in <module>", {}},
      {"3", "sleeps at hang.py:5 in load_batch", {"load_batch, /job/hang.py:5"}}};
  State state = press({}, picture, "/3\n");
  state.shows_rank = true;
  std::string text = text_of(frame(picture, state, usual, no_colours));
  EXPECT_TRUE(text.contains("does       sleeps at hang.py:5 in load_batch\n")) << text;
  EXPECT_TRUE(text.contains("      load_batch, /job/hang.py:5\n")) << text;
  state.selected.number = 1;
  text = text_of(frame(picture, state, usual, no_colours));
  EXPECT_TRUE(text.contains("does       waits in all_reduce, hang.py:8 in <module>\n")) << text;
}

TEST(Frame, AHangIsShownOnce) {
  Picture picture = job(1, 2);
  hang_with(picture, "rank 1 on n0 sleeps at hang.py:5");
  picture.messages = {{WallTime(), "n1 was lost"},
                      {WallTime(), model::headline(*last_of(picture).hang)}};
  const std::string text = text_of(frame(picture, {}, usual, no_colours));
  EXPECT_EQ(text.find("rank 1 on n0 sleeps"), text.rfind("rank 1 on n0 sleeps")) << text;
  EXPECT_TRUE(text.contains("n1 was lost")) << text;
}

TEST(Frame, WhoCancelledAJobIsToldForTheSignal) {
  Picture picture = job(2, 2);
  fail_with(picture, 0, "interrupted by SIGTERM");
  EXPECT_TRUE(
      text_of(frame(picture, {}, usual, no_colours)).contains("attempt 0: interrupted by SIGTERM"));
  picture.cancelled = "cancelled by alice at 06:04:10";
  const std::string text = text_of(frame(picture, {}, usual, no_colours));
  EXPECT_TRUE(text.contains("\ncancelled by alice at 06:04:10\n")) << text;
  EXPECT_FALSE(text.contains("interrupted")) << text;
}

TEST(Frame, ACancelledJobsLastPictureHasNoRunningRank) {
  Picture picture = job(1, 4);
  picture.ranks[0].state = RankState::suspect;
  picture.ranks[1].state = RankState::blocked;
  picture.ranks[3].state = RankState::done;
  hang_with(picture, "rank 0 on n0 sleeps");
  const Picture last = cancelled(picture, "cancelled by alice at 06:04:10");
  const std::string text = text_of(frame(last, {}, usual, no_colours));
  EXPECT_TRUE(text.contains("cancelled | 1 min 15 s | ")) << text;
  EXPECT_TRUE(text.contains("4 ranks: 3 stopped, 1 done")) << text;
  EXPECT_TRUE(text.contains("cancelled by alice at 06:04:10, it had hung: rank 0 on n0 sleeps"))
      << text;
}

TEST(Frame, TheHangOfAnEndedJobIsPast) {
  Picture picture = job(1, 2);
  fail_with(picture, 0, "interrupted by SIGTERM");
  hang_with(picture, "rank 0 on n0 sleeps");
  picture.run.running_at.reset();
  std::string text = text_of(frame(picture, {}, usual, no_colours));
  EXPECT_TRUE(text.contains("interrupted by SIGTERM, it had hung: rank 0 on n0 sleeps")) << text;
  EXPECT_FALSE(text.contains("has made")) << text;
  last_of(picture).cause->kind = model::CauseKind::hang;
  text = text_of(frame(picture, {}, usual, no_colours));
  EXPECT_TRUE(text.contains("\nit had hung: rank 0 on n0 sleeps")) << text;
  last_of(picture).hang->noticed = WallTime() + std::chrono::hours(400'000);
  picture.now = WallTime();  // of a report without its end
  text = text_of(frame(picture, {}, usual, no_colours));
  EXPECT_FALSE(text.contains("progress for")) << text;
  last_of(picture).cause->kind = model::CauseKind::interrupted;
  last_of(picture).hang->noticed = WallTime() + seconds(40);
  picture.run.running_at = picture.now;
  picture.hang_is_past = true;
  text = text_of(frame(picture, {}, usual, no_colours));
  EXPECT_TRUE(text.contains("SIGTERM, it had hung since ")) << "while it ends\n" << text;
  last_of(picture).cause.reset();
  last_of(picture).hang->over = WallTime();
  EXPECT_FALSE(text_of(frame(picture, {}, usual, no_colours)).contains("sleeps"));
}

TEST(Columns, AStateIsNeverCut) {
  Picture picture = job(2, 16);
  for (std::size_t i = 0; i < picture.ranks.size(); ++i) {
    constexpr RankState states[] = {RankState::failed, RankState::stopped, RankState::lost,
                                    RankState::done};
    picture.ranks[i].state = states[i % 4];
    picture.ranks[i].line = std::string(200, 'x');
  }
  for (const std::size_t width : {60u, 80u, 100u, 120u, 200u}) {
    const std::string text =
        text_of(frame(picture, {}, {.columns = width, .rows = 24}, no_colours));
    for (const char* states :
         {"4 lost, 4 failed, 4 stopped, 4 done", "8 lost, 8 failed, 8 stopped, 8 done"}) {
      const auto head_end = text.find("RANKS");
      EXPECT_NE(text.find(states, head_end), text.npos) << width << '\n' << text;
    }
    if (width >= 80) EXPECT_TRUE(text.contains("LAST LINE")) << text;
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(columns_of(line), width);
  }
}

TEST(Columns, HowLongANodeIsSilentIsNeverCut) {
  Picture picture = job(2, 4);
  picture.interval_s = 1;
  for (Picture::Rank& rank : picture.ranks) rank.line = std::string(200, 'x');
  for (const auto& [age_s, words] :
       {std::pair(9.0, "silent for 9s "), std::pair(7'199.0, "silent for 1h "),
        std::pair(360'000.0, "silent for 4d ")}) {
    picture.nodes[1].age_s = age_s;
    for (const std::size_t width : {60u, 80u, 120u}) {
      const std::string text =
          text_of(frame(picture, {}, {.columns = width, .rows = 40}, no_colours));
      EXPECT_TRUE(text.contains(words)) << width << '\n' << text;
    }
  }
}

TEST(Tree, NodesOfUnknownLocationAreInNoRack) {
  Picture picture = job(2, 1);
  picture.nodes[1].location = "";
  EXPECT_EQ(names(picture, {}, 9), Lines({"-k0", " -n0", "  r0", "-n1", " r1"}));
}

TEST(Tree, ANodeHasNoMoreRanksThanThePicture) {
  Picture picture = job(1, 2);
  picture.nodes[0].ranks = 9;
  EXPECT_EQ(ranks_of(picture, 0).end, 2u);
  picture.nodes[0].first_rank = 7;
  EXPECT_EQ(ranks_of(picture, 0).end, ranks_of(picture, 0).first);
}

TEST(Tree, SortedRanksTheLargestFirst) {
  Picture picture = job(1, 3);
  picture.ranks[1].busy_cpus = 2.5;
  picture.ranks[2].busy_cpus = 0.5;
  State state;
  state.sort = Sort::cpu;
  EXPECT_EQ(names(picture, state, 9), Lines({"r1", "r2", "r0"}));
  for (std::size_t rank = 0; rank < 3; ++rank)
    picture.ranks[rank].busy_cpus = 0.01 * static_cast<double>(rank);
  EXPECT_EQ(names(picture, state, 9), Lines({"r0", "r1", "r2"})) << "all are shown as 0.0";
  for (std::size_t rank = 0; rank < 3; ++rank)
    picture.ranks[rank].memory_mib = 2048.0 + static_cast<double>(rank);
  state.sort = Sort::memory;
  EXPECT_EQ(names(picture, state, 9), Lines({"r0", "r1", "r2"})) << "all are shown as 2.0G";
  const Columns columns(picture, 80);
  EXPECT_TRUE(columns.heads(Sort::cpu).contains(" CPU↓ ")) << columns.heads(Sort::cpu);
  EXPECT_TRUE(columns.heads(Sort::silence).contains(" OUTPUT↓"));
  EXPECT_FALSE(columns.heads().contains("↓"));
}

TEST(Remains, FitOnTheScreen) {
  Picture few = job(2, 2);
  few.run.running_at.reset();
  few.run.exit_code = 143;
  for (Picture::Rank& rank : few.ranks) rank.state = RankState::stopped;
  const Lines all = remains(few, usual, no_colours);
  ASSERT_EQ(all.size(), 9u);
  EXPECT_TRUE(all.front().contains("ended with 143")) << all.front();
  EXPECT_TRUE(all.back().starts_with("      rank 3  ")) << all.back();
  EXPECT_TRUE(all.back().contains("  stopped ")) << all.back();
  EXPECT_EQ(remains(job(2, 40), usual, no_colours).size(), 5u) << "folded";
  const Lines cut = remains(job(200, 2), usual, no_colours);
  EXPECT_LE(cut.size(), usual.rows - 3);
  EXPECT_EQ(cut.back(), "… and 83 more");
  EXPECT_GE(remains(job(200, 2), {.columns = 80, .rows = 3}, no_colours).size(), 6u);
}

// As of a job of 4 x 12 ranks whose rank 37 printed why it ended.
Picture failed_job() {
  Picture picture = job(4, 12);
  for (Picture::Node& node : picture.nodes) node.location = "";
  picture.run.running_at.reset();
  picture.run.exit_code = 3;
  fail_with(picture, 0, "rank 37 on n3 ended with exit code 3", "boom: disk full");
  last_of(picture).cause->rank = 37;
  for (Picture::Rank& rank : picture.ranks) rank.state = RankState::stopped;
  picture.ranks[37].state = RankState::failed;
  picture.ranks[37].line = "boom: disk full";
  return picture;
}

TEST(Remains, ShowARankThatFailed) {
  Picture picture = failed_job();
  const Lines folded = remains(picture, usual, no_colours);
  EXPECT_LE(folded.size(), usual.rows - 3);
  EXPECT_TRUE(folded.back().starts_with("    rank 37  ")) << folded.back();
  EXPECT_TRUE(folded.back().ends_with("  boom: disk full")) << folded.back();
  const Lines open = remains(picture, usual, no_colours, {{{Kind::node, 3}, true}});
  EXPECT_EQ(open.size(), folded.size() + 11) << "it stays as the user had it";
  const std::string full = join(remains(picture, {.columns = 80, .rows = 20}, no_colours,
                                        {{{Kind::node, 0}, true}, {{Kind::node, 3}, true}}),
                                "\n");
  for (const char* row :
       {"- n0  ", "    rank 0  ", "+ n2  ", "- n3  ", "    rank 37  ", "… and "}) {
    EXPECT_TRUE(full.contains(row)) << row << " is not in\n" << full;
  }
  picture = failed_job();
  for (std::size_t rank = 0; rank < 36; ++rank) picture.ranks[rank].state = RankState::failed;
  EXPECT_TRUE(remains(picture, usual, no_colours).back().starts_with("    rank 37  "))
      << "the cause has its row even if many others failed too";
  Picture many = job(200, 2);
  many.ranks[399].state = RankState::failed;
  const Lines cut = remains(many, usual, no_colours);
  EXPECT_TRUE(cut[cut.size() - 2].starts_with("      rank 399  ")) << cut[cut.size() - 2];
  EXPECT_TRUE(cut.back().starts_with("… and ")) << cut.back();
}

TEST(Remains, ShowTheRankAtFaultBeforeOthersThatFailed) {
  Picture picture = job(8, 64);
  fail_with(picture, 0, "rank 400 on n6 ended with exit code 3");
  last_of(picture).cause->rank = 400;
  for (Picture::Rank& rank : picture.ranks) rank.state = RankState::stopped;
  for (std::size_t rank = 0; rank < 64; ++rank) picture.ranks[rank].state = RankState::failed;
  picture.ranks[400].state = RankState::failed;
  const std::string text =
      join(remains(picture, usual, no_colours, {{{Kind::node, 0}, true}}), "\n");
  for (const char* row : {"- rack3 ", "  + n6  ", "      rank 400  ", "… and "}) {
    EXPECT_TRUE(text.contains(row)) << row << " is not in\n" << text;
  }
}

TEST(Remains, ShowTheLastLineOfTheRankAtFaultWithoutItsColumn) {
  constexpr TerminalSize narrow{.columns = 44, .rows = 24};
  Picture picture = failed_job();
  const std::string told = join(remains(picture, narrow, no_colours), "\n");
  EXPECT_EQ(told.find("boom: disk full"), told.rfind("boom: disk full")) << told;
  last_of(picture).cause->message = "";
  const Lines lines = remains(picture, narrow, no_colours);
  EXPECT_LE(lines.size(), narrow.rows - 3);
  EXPECT_EQ(lines.back(), "rank 37: boom: disk full");
  EXPECT_EQ(join(remains(picture, usual, no_colours), "\n").find("rank 37: "), std::string::npos);
  picture.ranks[37].line = "step " + std::string(99, '7');
  EXPECT_EQ(columns_of(remains(picture, narrow, no_colours).back()), narrow.columns);
}

TEST(Frame, AFailedRankIsNotFoldedAwayUnlessByTheUser) {
  const Picture picture = failed_job();
  State state;
  EXPECT_TRUE(text_of(frame(picture, state, usual, no_colours)).contains("    rank 37  "));
  state.folds[{Kind::node, 3}] = false;
  EXPECT_FALSE(text_of(frame(picture, state, usual, no_colours)).contains("    rank 37  "));
}

TEST(Frame, ARanksDetailsScroll) {
  Picture picture = failed_job();
  for (int line = 0; line < 30; ++line) {
    last_of(picture).cause->last_output.emplace_back(fmt::format("line {}", line));
  }
  constexpr TerminalSize low{.columns = 44, .rows = 20};
  State state;
  state.selected = {Kind::rank, 37};
  state.shows_rank = true;
  const auto shown = [&](Code code) {
    state = after(state, {code}, picture, list_lines(picture, low));
    Frame drawn = frame(picture, state, low, no_colours);
    state = drawn.state;
    EXPECT_TRUE(state.shows_rank);
    EXPECT_EQ(drawn.lines.size(), low.rows);
    const std::string text = text_of(drawn);
    EXPECT_TRUE(text.contains("rank 37 on n3, its local rank 1: failed")) << text;
    return text;
  };
  EXPECT_TRUE(shown(Code::down).contains("    line 29\n")) << "the newest stay";
  EXPECT_TRUE(shown(Code::down).contains(" lines above\n"));
  EXPECT_FALSE(shown(Code::up).contains("line 29\n"));
  EXPECT_TRUE(shown(Code::page_down).contains("line 29\n"));
  const std::string top = shown(Code::home);
  EXPECT_TRUE(top.contains("  last line  boom: disk full\n")) << top;
  EXPECT_FALSE(top.contains(" above\n")) << top;
  EXPECT_TRUE(shown(Code::page_up).contains("  last line  "));
  EXPECT_TRUE(shown(Code::end).contains("line 29\n"));
  EXPECT_FALSE(after(state, {Code::text, 'x'}, picture, 9).shows_rank);
}

TEST(Frame, ANoteIsWrapped) {
  State state;
  state.note = "no log file of this rank: --redirects 3 or --tee 3 writes one";
  const Lines lines = frame(job(2, 2), state, {.columns = 44, .rows = 20}, no_colours).lines;
  ASSERT_EQ(lines.size(), 20u);
  EXPECT_EQ(lines[18] + "|" + lines[19],
            "no log file of this rank: --redirects 3 or|--tee 3 writes one");
}

TEST(Frame, ALongNoteLeavesTheScreenAsHighAsItIs) {
  State state;
  state.note = "ssh:";
  for (int i = 0; i < 80; ++i) state.note += " word";
  state.note += " no route";
  const Lines lines = frame(job(2, 2), state, least_size, no_colours).lines;
  EXPECT_EQ(lines.size(), least_size.rows);
  EXPECT_TRUE(lines[7].starts_with("ssh: ")) << lines[7];
  EXPECT_TRUE(lines.back().ends_with("no route")) << lines.back();
}

TEST(Keys, OfTerminals) {
  const struct {
    std::string bytes;
    std::vector<Key> keys;
    std::string rest;
  } cases[] = {
      {"jq", {{Code::text, 'j'}, {Code::text, 'q'}}, ""},
      {"\x1b[A\x1bOB\x1b[5~", {{Code::up}, {Code::down}, {Code::page_up}}, ""},
      {"\x1b[1;5A x", {{Code::text, ' '}, {Code::text, 'x'}}, ""},  // Ctrl-Up: unknown
      {"j\x1b[", {{Code::text, 'j'}}, "\x1b["},
      {"\r\x7f\x01", {{Code::enter}, {Code::erase}}, ""},
  };
  for (const auto& one : cases) {
    std::string bytes = one.bytes;
    EXPECT_EQ(keys_in(bytes, false), one.keys) << one.bytes;
    EXPECT_EQ(bytes, one.rest);
  }
  std::string escape = "\x1b";
  EXPECT_EQ(keys_in(escape, true), std::vector<Key>{{Code::escape}});
  EXPECT_EQ(escape, "");
}

TEST(Keys, MoveAndFold) {
  const Picture picture = job(4, 8);  // two racks, four nodes: ranks do not fit into 20 lines
  State state = press({}, picture, "j");
  EXPECT_EQ(state.selected, (Item{Kind::node, 0}));
  state = press(state, picture, "\n");
  EXPECT_EQ(names(picture, state, 20).at(2), "  r0");
  state = press(state, picture, "j");
  EXPECT_EQ(state.selected, (Item{Kind::rank, 0}));
  state = press(state, picture, "k\n");
  EXPECT_EQ(names(picture, state, 20).at(2), " +n1");
  EXPECT_EQ(press(state, picture, "G").selected, (Item{Kind::node, 3}));
  EXPECT_EQ(press(state, picture, "Gg").selected, (Item{Kind::rack, 0}));
}

TEST(Keys, Search) {
  const Picture picture = job(40, 8);
  State state = press({}, picture, "/17\n");
  EXPECT_EQ(state.selected, (Item{Kind::rank, 17}));
  EXPECT_EQ(
      text_of(frame(picture, state, usual, no_colours)).find(">      rank 17") != std::string::npos,
      true);
  state = press(state, picture, "/n3\n");
  EXPECT_EQ(state.selected, (Item{Kind::node, 3}));
  EXPECT_EQ(press(state, picture, "n").selected, (Item{Kind::node, 30})) << "the next one";
  EXPECT_EQ(press(state, picture, "/rack9\n").selected, (Item{Kind::rack, 9}));
  state = press(state, picture, "/x9\n");
  EXPECT_EQ(state.note, "no rank, node or rack is called x9");
  EXPECT_EQ(press(state, picture, "j").note, "");
}

TEST(Keys, ASearchKeepsTheSort) {
  Picture picture = job(4, 8);
  for (std::size_t rank = 0; rank < 32; ++rank) picture.ranks[rank].busy_cpus = rank;
  State state = press({}, picture, "s/17\n");
  EXPECT_EQ(state.sort, Sort::cpu);
  EXPECT_EQ(state.selected, (Item{Kind::rank, 17}));
  const auto shown = [&] { return text_of(frame(picture, state, usual, no_colours)); };
  EXPECT_TRUE(shown().contains("\n>  rank 17  n2 ")) << shown();
  picture.ranks[17].busy_cpus = 99;
  EXPECT_TRUE(shown().contains("\n>  rank 17  n2 ")) << "the row goes with it: " << shown();
  state = press(frame(picture, state, usual, no_colours).state, picture, "j");
  EXPECT_NE(state.selected, (Item{Kind::rank, 17}));
  EXPECT_EQ(press(state, picture, "/n3\n").sort, Sort::order) << "a sorted list has no nodes";
}

TEST(Keys, ASelectedRankStaysSelectedWhenTheSortChanges) {
  Picture picture = job(4, 8);
  for (std::size_t rank = 0; rank < 32; ++rank) {
    picture.ranks[rank].busy_cpus = rank;
    picture.ranks[rank].memory_mib = 2'000.0 - 10.0 * static_cast<double>(rank);
  }
  picture.ranks[17].state = RankState::suspect;
  picture.nodes[2].logs = "/logs";
  const auto shown = [&](State state) { return frame(picture, state, usual, no_colours).state; };
  for (const std::string keys : {"/hang\n", "G\nG", "s/17\n"}) {
    State state = shown(press({}, picture, keys));
    const Item chosen = state.selected;
    ASSERT_EQ(chosen.kind, Kind::rank) << keys;
    for (int presses = 0; presses < 5; ++presses) {
      state = shown(press(state, picture, "s"));
      EXPECT_EQ(state.selected, chosen) << keys << " and s " << presses + 1 << " times";
    }
  }
  EXPECT_EQ(log_of(picture, shown(press({}, picture, "/hang\ns"))).path, "/logs/attempt_0/1/*.log");
  // Without a selected rank, the bar is at the largest value.
  EXPECT_EQ(shown(press({}, picture, "s")).selected, (Item{Kind::rank, 31}));
  EXPECT_EQ(shown(press(shown(press({}, picture, "s")), picture, "s")).selected,
            (Item{Kind::rank, 0}));
  EXPECT_EQ(shown(press(shown(press({}, picture, "sj")), picture, "s")).selected,
            (Item{Kind::rank, 30}));
}

TEST(Keys, EnterShowsARank) {
  Picture picture = job(1, 4);
  picture.nodes[0].logs = "/logs";
  picture.ranks[2].state = RankState::failed;
  picture.ranks[2].line = "ValueError: boom";
  picture.ranks[1].busy_cpus = 1.5;
  picture.ranks[1].silence_s = 125;
  fail_with(picture, 0, "rank 2 on n0 ended with exit code 1", "ValueError: boom");
  last_of(picture).cause->rank = 2;
  last_of(picture).cause->last_output = {"one", "two"};
  State state = press({}, picture, "/2\n\n");
  EXPECT_TRUE(state.shows_rank);
  const auto shown = [&] { return text_of(frame(picture, state, usual, no_colours)); };
  for (const char* part :
       {"  rank 2 on n0, its local rank 2: failed\n", "last line  ValueError: boom\n",
        "log        on n0: /logs/attempt_0/2/*.log\n",
        "attempt 0  rank 2 on n0 ended with exit code 1: ValueError: boom\n", "one\n", "two\n"}) {
    EXPECT_TRUE(shown().contains(part)) << part << " in " << shown();
  }
  EXPECT_EQ(press(state, picture, "l").wish, State::Wish::log);
  state = press(state, picture, "\n");
  EXPECT_FALSE(state.shows_rank);
  state = press(state, picture, "/1\n\n");
  EXPECT_TRUE(shown().contains("uses       CPU 1.5\n")) << shown();
  EXPECT_TRUE(shown().contains("printed    last 2m ago\n")) << shown();
  EXPECT_FALSE(shown().contains("two")) << "another's";
  picture.ranks.clear();
  EXPECT_FALSE(frame(picture, state, usual, no_colours).state.shows_rank);
}

TEST(Keys, SearchByState) {
  Picture picture = job(40, 8);
  picture.ranks[17].state = picture.ranks[99].state = RankState::failed;
  State state = press({}, picture, "/failed\n");
  EXPECT_EQ(state.selected, (Item{Kind::rank, 17}));
  state = press(state, picture, "n");
  EXPECT_EQ(state.selected, (Item{Kind::rank, 99}));
  EXPECT_EQ(press(state, picture, "n").selected, (Item{Kind::rank, 17})) << "from the beginning";
  EXPECT_EQ(press({}, picture, "/lost\n").note, "no rank is lost");
  for (const char* word : {"fail", "Failed", "failure"}) {
    EXPECT_EQ(press({}, picture, fmt::format("/{}\n", word)).selected, (Item{Kind::rank, 17}));
  }
  EXPECT_EQ(press({}, picture, "/hang\n").note, "no rank hangs");
  picture.ranks[3].state = RankState::suspect;
  for (const char* word : {"hang", "hangs", "hanging"}) {
    EXPECT_EQ(press({}, picture, fmt::format("/{}\n", word)).selected, (Item{Kind::rank, 3}));
  }
  picture.nodes[5].name = "runner1";
  EXPECT_EQ(press({}, picture, "/runner\n").selected, (Item{Kind::node, 5}));
}

TEST(Keys, HelpSortAndLeave) {
  const Picture picture = job(1, 2);
  EXPECT_TRUE(press({}, picture, "?").shows_help);
  EXPECT_FALSE(press({}, picture, "?q").shows_help);
  EXPECT_EQ(press({}, picture, "?q").wish, State::Wish::none) << "any key goes back";
  EXPECT_EQ(press({}, picture, "q").wish, State::Wish::quit);
  EXPECT_EQ(press({}, picture, "l").wish, State::Wish::log);
  EXPECT_EQ(press({}, picture, "ss").sort, Sort::memory);
  EXPECT_EQ(press({}, picture, "ssss").sort, Sort::order);
}

TEST(Keys, SortSkipsAColumnThatIsNotShown) {
  Picture picture = job(1, 2);
  picture.ranks[0].line = "step 1";
  const auto shown = [&](State state, std::size_t columns) {
    return frame(picture, state, {.columns = columns, .rows = 24}, no_colours).state;
  };
  const auto sorts = [&](std::size_t columns) {
    std::string all;
    State state = shown({}, columns);
    do {
      state = shown(press(state, picture, "s"), columns);
      all += fmt::format("{} ", static_cast<int>(state.sort));
    } while (state.sort != Sort::order);
    return all;
  };
  EXPECT_EQ(sorts(200), "1 2 3 0 ");
  EXPECT_EQ(sorts(80), "1 3 0 ") << "no MEM";
  EXPECT_EQ(sorts(44), "3 0 ");
  EXPECT_EQ(shown(shown(press({}, picture, "ss"), 200), 80).sort, Sort::order);
}

TEST(Keys, ThePictureMayShrink) {
  State state = press({}, job(40, 1), "G");
  state = after(state, {Code::up}, job(1, 1), 20);
  EXPECT_LT(state.row, 3u);
  state = after(state, {Code::enter}, Picture(), 20);
  EXPECT_EQ(state.wish, State::Wish::none);
}

TEST(Frame, ARank) {
  Picture picture = job(1, 1);
  picture.nodes[0].busy_cpus = 3.25;
  picture.nodes[0].cpus = 16;
  picture.nodes[0].memory_mib = 2048;
  picture.nodes[0].memory_total_mib = 262'144;
  picture.nodes[0].received_mb_per_s = 120;
  picture.ranks[0].busy_cpus = 1;
  picture.ranks[0].memory_mib = 512;
  picture.ranks[0].gpu_percent = 93;
  picture.ranks[0].gpu_memory_mib = 71'680;
  picture.ranks[0].silence_s = 125;
  const Lines lines = frame(picture, {}, {.columns = 120, .rows = 10}, no_colours).lines;
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[0], "train | running | 1 min 15 s | 1 node | 1 rank: 1 runs");
  EXPECT_EQ(lines[1].substr(0, 9), "   RANKS ");
  EXPECT_TRUE(lines[2].starts_with(">- rack0 (1 node)")) << lines[2];
  EXPECT_TRUE(lines[3].contains("- n0")) << lines[3];
  EXPECT_TRUE(lines[3].contains("93%   70.0G      2m    3.2/16   2.0G/256G      120")) << lines[3];
  EXPECT_TRUE(lines[4].contains("rank 0")) << lines[4];
  EXPECT_TRUE(lines[4].contains("runs")) << lines[4];
  EXPECT_TRUE(lines[4].contains("1.0    512M   93%")) << lines[4];
}

TEST(Frame, TheSparesStandBesideTheNodes) {
  Picture picture = job(2, 1);
  picture.run.spares = {"n2"};
  const auto title = [&] { return frame(picture, {}, usual, no_colours).lines[0]; };
  EXPECT_TRUE(title().contains(" | 2 nodes, 1 spare | ")) << title();
  picture.run.spares.clear();
  picture.run.lost_spares.resize(2);
  EXPECT_TRUE(title().contains(" | 2 nodes, 2 spares gone | ")) << title();
}

TEST(Frame, ANarrowOneKeepsWhatTellsRacksApart) {
  Picture picture = job(40, 8);
  picture.run.program = "train.py";
  picture.id = "4711";
  for (Picture::Node& node : picture.nodes) node.location = "/hall/row0" + node.location.raw();
  const std::string job = "train.py (4711) | running | 1 min 15 s | ";
  for (const auto& [width, title, rack] :
       {std::tuple<std::size_t, std::string, std::string>{120, "40 nodes | 320 ranks: 320 run",
                                                          "+ hall/row0/rack0 (2 nodes)  "},
        {80, "40 nodes | 320 ranks: 320 run", "+ hall/row0/rack0 (2 nodes)  "},
        {61, "320 ranks: 320 run", "row0/rack0 (2)  "}}) {
    const Lines lines = frame(picture, {}, {.columns = width, .rows = 24}, no_colours).lines;
    EXPECT_EQ(lines[0], job + title);
    EXPECT_TRUE(lines[2].contains(rack)) << lines[2];
  }
}

TEST(Frame, TheNameThatItsUserChose) {
  Picture picture = job(1, 1);
  picture.run.program = "/home/ada/train.py";
  picture.id = "36";
  EXPECT_TRUE(
      frame(picture, {}, usual, no_colours).lines[0].starts_with("train.py (36) | running"));
  picture.run.title = "bigrun";
  EXPECT_TRUE(frame(picture, {}, usual, no_colours).lines[0].starts_with("bigrun (36) | running"));
}

TEST(Frame, TheTimeThatIsLeft) {
  Picture picture = job(1, 1);
  picture.limit = *picture.now + std::chrono::minutes(61);
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[0],
            "train | running | 1 min 15 s | 1 h 01 min left | 1 node | 1 rank: 1 runs");
  picture.limit = *picture.now - seconds(1);
  EXPECT_TRUE(frame(picture, {}, usual, no_colours).lines[0].contains("| its time is up |"));
  picture.run.running_at.reset();
  EXPECT_FALSE(frame(picture, {}, usual, no_colours).lines[0].contains("time"));
}

TEST(Frame, ATitleThatIsTooLongTakesAnotherLine) {
  Picture picture = job(2, 4);
  picture.run.title = "a-long-name-of-a-job-of-mine";
  picture.id = "1234567";
  last_of(picture).attempt = picture.run.restarts = 1;
  picture.run.max_restarts = 2;
  const Lines lines = frame(picture, {}, usual, no_colours).lines;
  EXPECT_EQ(lines[0], "a-long-name-of-a-job-of-mine (1234567) | running | 1 min 15 s | attempt 1");
  EXPECT_EQ(lines[1], "1 of 2 restarts | 2 nodes | 8 ranks: 8 run");
}

TEST(Frame, ASmallScreenLeavesOutWhatDoesNotFit) {
  Picture picture = job(2, 4);
  last_of(picture).attempt = 1;
  const Lines lines = frame(picture, {}, {.columns = 40, .rows = 10}, no_colours).lines;
  EXPECT_EQ(lines[0], "train | running | 8 ranks: 8 run");
  EXPECT_EQ(lines[9], "q quit  Enter fold  l log  ? help");
}

TEST(Frame, NoScreenCutsWhoKeepsTheOthersWaiting) {
  Picture picture = job(4, 8);
  hang_with(
      picture,
      "rank 17 on n2 sleeps at /home/ada/projects/train/loader.py:9 in next_batch, and 31 ranks "
      "wait for it");
  last_of(picture).hang->noticed = *picture.now - seconds(15);
  const Lines lines = frame(picture, {}, usual, no_colours).lines;
  EXPECT_EQ(lines[1],
            "rank 17 on n2 sleeps at /home/ada/projects/train/loader.py:9 in next_batch, and");
  EXPECT_EQ(lines[2], "31 ranks wait for it (no rank has made progress for 15.0 s)");
  const Lines low = frame(picture, {}, {.columns = 40, .rows = 10}, no_colours).lines;
  EXPECT_TRUE(low[1].starts_with("rank 17 on n2 sleeps")) << low[1];
}

TEST(Frame, TheLastFailureWithItsMessage) {
  Picture picture = job(1, 1);
  fail_with(picture, 0, "rank 5 on n1 ended with exit code 1", "ValueError: no\nmore");
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "attempt 0: rank 5 on n1 ended with exit code 1: ValueError: no\\nmore");
}

TEST(Frame, WhatRanksUseAndWhatTheirHostsDo) {
  Picture picture = job(1, 2);
  picture.nodes[0].busy_cpus = 7;
  picture.nodes[0].cpus = 16;
  picture.nodes[0].memory_mib = 4'096;
  picture.nodes[0].memory_total_mib = 8'192;
  for (Picture::Rank& rank : picture.ranks) {
    rank.busy_cpus = 1.5;
    rank.memory_mib = 100;
  }
  const auto row = [&](std::size_t at, std::size_t columns) {
    return frame(picture, {}, {.columns = columns, .rows = 24}, no_colours).lines[at];
  };
  EXPECT_TRUE(row(1, 120).contains("HOST CPU    HOST MEM")) << row(1, 120);
  EXPECT_TRUE(row(3, 120).contains(" 3.0    200M")) << "those of its ranks: " << row(3, 120);
  EXPECT_TRUE(row(3, 120).contains(" 7.0/16   4.0G/8.0G")) << row(3, 120);
  EXPECT_TRUE(row(4, 120).contains(" 1.5    100M")) << row(4, 120);
  EXPECT_FALSE(row(1, 60).contains("HOST")) << row(1, 60);
  EXPECT_TRUE(row(3, 60).contains(" 3.0    200M")) << row(3, 60);
}

TEST(Frame, TheLastLineOfEveryRank) {
  Picture picture = job(1, 2);
  picture.ranks[1].line = "step 230 loss 0.0043";
  picture.ranks[1].silence_s = 1;
  Lines lines = frame(picture, {}, {.columns = 120, .rows = 24}, no_colours).lines;
  EXPECT_TRUE(lines[1].ends_with("LAST LINE")) << lines[1];
  EXPECT_TRUE(lines[2].ends_with("  step 230 loss 0.0043")) << "a rack's newest: " << lines[2];
  EXPECT_TRUE(lines[5].ends_with("  step 230 loss 0.0043")) << lines[5];
  EXPECT_FALSE(lines[4].contains("step")) << lines[4];
  lines = frame(picture, {}, usual, no_colours).lines;
  EXPECT_TRUE(lines[5].ends_with("  step 230 loss 0.0043")) << lines[5];
  EXPECT_TRUE(lines[1].contains(" CPU ") && lines[1].contains(" OUTPUT ")) << lines[1];
  lines = frame(picture, {}, {.columns = 56, .rows = 24}, no_colours).lines;
  EXPECT_FALSE(lines[1].contains("LAST LINE")) << lines[1];
  EXPECT_EQ(lines[22], "rank 1: step 230 loss 0.0043");
  State other;
  other.selected = {Kind::rank, 0};
  EXPECT_EQ(frame(picture, other, {.columns = 56, .rows = 24}, no_colours).lines[22], "");
}

TEST(Frame, HelpAndDetailsStandWithoutTheHeadOfColumns) {
  Picture picture = job(1, 2);
  hang_with(picture, "rank 1 on n0 sleeps");
  for (const auto& [size, words] :
       {std::pair<TerminalSize, const char*>{{40, 10}, "fold; show a rank"},
        {{44, 14}, "fold or unfold a rack or\n"},
        {{80, 24}, "fold or unfold a rack or node; show all about a rank\n"},
        {{120, 40}, "fold or unfold a rack or node; show all about a rank\n"}}) {
    const std::string text = text_of(frame(picture, press({}, picture, "?"), size, no_colours));
    EXPECT_TRUE(text.contains(words)) << text;
    EXPECT_TRUE(text.contains("\n  q             leave")) << text;
    EXPECT_TRUE(text.ends_with("\nany key goes back\n")) << text;
    EXPECT_FALSE(text.contains("…") || text.contains("RANKS")) << text;
    const std::string rank =
        text_of(frame(picture, press({}, picture, "/1\n\n"), size, no_colours));
    EXPECT_TRUE(rank.contains("rank 1 on n0, its local rank 1: runs\n")) << rank;
    EXPECT_FALSE(rank.contains("RANKS")) << rank;
  }
}

TEST(Frame, MessagesTakeTheRowsThatTheListCannotFill) {
  Picture picture = job(1, 2);
  picture.messages.assign(60, {WallTime(), "toprun: something"});
  const auto messages = [&](const Picture& of) {
    return std::ranges::count(frame(of, {}, {.columns = 80, .rows = 40}, no_colours).lines,
                              "toprun: something");
  };
  EXPECT_EQ(messages(picture), 32);  // of 40: title, heads, four rows, a gap, the foot
  picture = job(30, 8);
  picture.messages.assign(60, {WallTime(), "toprun: something"});
  EXPECT_EQ(messages(picture), 8);
}

TEST(Frame, AMessageHasItsTime) {
  Picture picture = job(1, 1);
  const WallTime at{std::chrono::hours(500'000)};
  picture.now = at;
  picture.messages = {{at, "n1 waits as a spare"}};
  const Lines lines = frame(picture, {}, {.columns = 80, .rows = 24}, no_colours).lines;
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line == text; });
  };
  EXPECT_TRUE(has(moment_text(at, at) + " n1 waits as a spare"));
}

TEST(Frame, AJobThatWaitsIsToldInWholeLines) {
  const std::string reason =
      "waits for: the nodes or GPUs that it asks for are in use; it is next when they are free";
  for (const std::size_t columns : {40u, 60u, 80u}) {
    for (const bool shows_help : {false, true}) {
      State state;
      state.shows_help = shows_help;
      const Lines lines = waiting_screen({reason}, state, columns);
      std::string whole;
      for (const std::string& line : lines) {
        EXPECT_LE(columns_of(line), columns) << line;
        whole += line + " ";
      }
      EXPECT_TRUE(whole.starts_with(reason)) << whole;
    }
  }
}

TEST(Frame, ALastLineKeepsItsBeginning) {
  Picture picture = job(1, 1);
  picture.ranks[0].line = "step 230 loss 0.0043 " + std::string(300, 'x');
  for (const std::size_t width : {56u, 80u, 100u, 120u, 200u}) {
    const Lines lines = frame(picture, {}, {.columns = width, .rows = 24}, no_colours).lines;
    const std::string& line = lines[width < 60 ? 22 : 4];
    EXPECT_TRUE(line.contains("step 230 loss 0.0043 ") && line.ends_with("x…")) << line;
    EXPECT_EQ(columns_of(line), width);
    EXPECT_EQ(lines[1].contains(" IN MB/s"), lines[1].contains("OUT MB/s"));
  }
}

TEST(Frame, OfManyPhasesTheLastOnesFit) {
  using std::chrono::milliseconds;
  Picture picture = job(1, 1);
  last_of(picture).phases.join = last_of(picture).phases.order = milliseconds(900);
  last_of(picture).phases.spawn = milliseconds(1'400);
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "phases: nodes joined 900 ms, ordered 900 ms, ranks started 1.4 s");
  EXPECT_EQ(frame(picture, {}, {.columns = 40, .rows = 10}, no_colours).lines[1],
            "phases: ranks started 1.4 s");
}

TEST(Frame, FitsIntoEveryTerminal) {
  for (const auto& [nodes, ranks] :
       {std::pair<std::size_t, std::size_t>{1, 8}, {64, 8}, {300, 4}}) {
    Picture picture = job(nodes, ranks);
    hang_with(picture, std::string(300, 'x'));
    picture.messages.assign(9, {WallTime(), "toprun: " + std::string(300, 'y')});
    for (const TerminalSize size : {TerminalSize{40, 10}, {80, 24}, {200, 50}, {41, 11}}) {
      for (const Style& style : {no_colours, Style{.colour = true, .columns = 0}}) {
        const Lines lines = frame(picture, {}, size, style).lines;
        EXPECT_LE(lines.size(), size.rows);
        for (std::string line : lines) {
          for (std::size_t at; (at = line.find('\x1b')) != std::string::npos;) {
            line.erase(at, line.find('m', at) + 1 - at);
          }
          EXPECT_LE(columns_of(line), size.columns) << line;
        }
      }
    }
  }
  EXPECT_EQ(frame(job(1, 1), {}, {.columns = 30, .rows = 9}, no_colours).lines,
            Lines{"top needs 40 x 10 characters"});
}

TEST(Frame, WhoIsAwaitedAndWhatIsWrong) {
  Picture picture;
  picture.run.job = "train";
  picture.run.running_at = WallTime();
  picture.stage = "gathering";
  picture.joined = 2;
  picture.most_nodes = 4;
  picture.missing = {"n2", "n3"};
  picture.missing_count = 2;
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "2 of 4 nodes have joined, not n2 and 1 other");
  picture.missing.clear();
  picture.here = {"n0", "n1"};
  picture.waits_until = WallTime() + std::chrono::hours(400'000);
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "2 of 4 nodes have joined: n0 and 1 other; toprun waits until " +
                moment_text(*picture.waits_until, *picture.waits_until));
  picture = job(2, 1);
  last_of(picture).awaited = model::Awaited{true, 1, 2, 1, "n1"};
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "1 of 2 ranks have reached the store, not rank 1 on n1");
  picture.run.attempts.clear();
  fail_with(picture, 0, "rank 1 on n1 exited with 1");
  picture.run.attempts.emplace_back().awaited = model::Awaited{true, 1, 2, 1, "n1"};
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[2],
            "attempt 0: rank 1 on n1 exited with 1");
  hang_with(picture, "rank 0 keeps the others waiting");
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[2], "rank 0 keeps the others waiting");
}

TEST(Frame, NoTextControlsTheTerminal) {
  const std::string evil =
      "\x1b]0;evil\x07\x1b[2J\xc2\x9b"
      "5n\r\n";
  Picture picture = job(1, 1);
  picture.run.job = picture.run.title = picture.id = picture.stage = evil;
  picture.ranks[0].line = evil;
  picture.nodes[0].name = evil;
  picture.nodes[0].location = "/" + evil + "/" + evil;
  picture.messages = {{WallTime(), evil}};
  fail_with(picture, 0, evil, evil);
  hang_with(picture, evil);
  picture.missing = {evil};
  State state;
  state.note = state.search = evil;
  for (const bool searches : {false, true}) {
    state.searches = searches;
    for (const std::string& line : frame(picture, state, usual, no_colours).lines) {
      for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), ' ') << line;
      EXPECT_FALSE(line.contains("\xc2\x9b")) << line;
    }
  }
}

TEST(Frame, WhereALogIs) {
  Picture picture = job(2, 2);
  last_of(picture).attempt = 1;
  picture.nodes[1].logs = "/tmp/logs";
  State state;
  state.selected = {Kind::rank, 3};
  EXPECT_EQ(log_of(picture, state).path, "/tmp/logs/attempt_1/1/*.log");
  using Files = std::vector<std::string>;
  const std::string out = "/tmp/logs/attempt_1/1/stdout.log",
                    err = "/tmp/logs/attempt_1/1/stderr.log";
  EXPECT_EQ(log_of(picture, state).files, (Files{out, err}));
  EXPECT_TRUE(log_of(picture, state).newest_first);
  picture.ranks[3].state = RankState::failed;
  EXPECT_EQ(log_of(picture, state).files, (Files{err, out})) << "the reason first";
  EXPECT_FALSE(log_of(picture, state).newest_first);
  EXPECT_EQ(log_of(picture, state).node, "n1");
  state.selected = {Kind::node, 1};
  EXPECT_EQ(log_of(picture, state).path, "/tmp/logs/attempt_1/0/*.log");
  state.selected = {Kind::rack, 0};
  EXPECT_EQ(log_of(picture, state).path, "") << "none is kept";
  picture.node_log = "/work/logs/9";
  EXPECT_EQ(log_of(picture, state).path, "/work/logs/9/n0.out") << "of toprun submit";
  EXPECT_EQ(log_of(picture, state).files, (Files{"/work/logs/9/n0.out"}));
  state.selected = {Kind::rank, 99};
  EXPECT_EQ(log_of(picture, state).node, "");
  // A stranger's node could name an option of the pager in place of a folder.
  picture.nodes[0].logs = "+!touch /tmp/x;";
  picture.node_log = "+!touch /tmp/x;";
  EXPECT_TRUE(log_of(picture, {}).path.empty());
}

TEST(Cells, OutputIsOfTheNewestRank) {
  Picture picture = job(4, 1);
  picture.ranks[0].silence_s = 2;
  picture.ranks[1].silence_s = 900;
  const Lines lines = frame(picture, {}, usual, no_colours).lines;
  EXPECT_TRUE(lines[2].contains("rack0") && lines[2].ends_with("      2s")) << lines[2];
}

TEST(Cells, OfGpusOnlyWhereThereAreSome) {
  Picture picture = job(1, 2);
  EXPECT_FALSE(frame(picture, {}, usual, no_colours).lines[1].contains("GPU"));
  picture.ranks[1].gpu_memory_mib = 5;
  EXPECT_TRUE(frame(picture, {}, usual, no_colours).lines[1].contains("GPUMEM"));
}

TEST(Cells, TheWorstFirst) {
  Picture picture = job(1, 5);
  picture.ranks[0].state = RankState::failed;
  picture.ranks[1].state = picture.ranks[2].state = RankState::suspect;
  Counts counts;
  count(counts, picture, {0, 5});
  EXPECT_EQ(states_text(counts), "2 hang, 1 failed, 2 run");
}

}  // namespace
}  // namespace toprun::top
