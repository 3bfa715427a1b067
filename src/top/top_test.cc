#include <gtest/gtest.h>

#include <tuple>

#include "top/cells.h"
#include "top/frame.h"
#include "top/keys.h"
#include "top/tree.h"

namespace toprun::top {
namespace {

using watch::Picture;
using watch::RankState;
using Code = Key::Code;
using Lines = std::vector<std::string>;
using std::chrono::seconds;

constexpr TerminalSize usual{.columns = 80, .rows = 24};
constexpr Look no_colours{};

// Racks of two nodes each.
Picture job(std::size_t nodes, std::size_t ranks_each) {
  Picture picture;
  picture.name = "train";
  picture.stage = "running";
  picture.started = WallTime();
  picture.now = WallTime() + seconds(75);
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

Lines names(const Picture& picture, const State& state, std::size_t lines) {
  Lines all;
  const Tree tree = tree_of(picture);
  for (const Row& row : rows_of(picture, tree, state.sort, state.folds, lines)) {
    const std::string mark = row.place.kind == Kind::rank ? "" : row.is_open ? "-" : "+";
    const char kind = row.place.kind == Kind::rack ? 'k' : row.place.kind == Kind::node ? 'n' : 'r';
    all.push_back(std::string(row.depth, ' ') + mark + kind + std::to_string(row.place.number));
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
  EXPECT_EQ(state.selected, (Place{Kind::node, 0}));
  state = press(state, picture, "\n");
  EXPECT_EQ(names(picture, state, 20).at(2), "  r0");
  state = press(state, picture, "j");
  EXPECT_EQ(state.selected, (Place{Kind::rank, 0}));
  state = press(state, picture, "k\n");
  EXPECT_EQ(names(picture, state, 20).at(2), " +n1");
  EXPECT_EQ(press(state, picture, "G").selected, (Place{Kind::node, 3}));
  EXPECT_EQ(press(state, picture, "Gg").selected, (Place{Kind::rack, 0}));
}

TEST(Keys, Search) {
  const Picture picture = job(40, 8);
  State state = press({}, picture, "/17\n");
  EXPECT_EQ(state.selected, (Place{Kind::rank, 17}));
  EXPECT_EQ(
      text_of(frame(picture, state, usual, no_colours)).find(">      rank 17") != std::string::npos,
      true);
  state = press(state, picture, "/n3\n");
  EXPECT_EQ(state.selected, (Place{Kind::node, 3}));
  EXPECT_EQ(press(state, picture, "n").selected, (Place{Kind::node, 30})) << "the next one";
  EXPECT_EQ(press(state, picture, "/rack9\n").selected, (Place{Kind::rack, 9}));
  state = press(state, picture, "/x9\n");
  EXPECT_EQ(state.note, "no rank, node or rack is called x9");
  EXPECT_EQ(press(state, picture, "j").note, "");
}

TEST(Keys, SearchByState) {
  Picture picture = job(40, 8);
  picture.ranks[17].state = picture.ranks[99].state = RankState::failed;
  State state = press({}, picture, "/failed\n");
  EXPECT_EQ(state.selected, (Place{Kind::rank, 17}));
  state = press(state, picture, "n");
  EXPECT_EQ(state.selected, (Place{Kind::rank, 99}));
  EXPECT_EQ(press(state, picture, "n").selected, (Place{Kind::rank, 17})) << "from the beginning";
  EXPECT_EQ(press({}, picture, "/lost\n").note, "no rank, node or rack is called lost");
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
  EXPECT_TRUE(lines[3].contains("3.2/16   2.0G/256G   93%   70.0G      2m      120")) << lines[3];
  EXPECT_TRUE(lines[4].contains("rank 0")) << lines[4];
  EXPECT_TRUE(lines[4].contains("runs")) << lines[4];
  EXPECT_TRUE(lines[4].contains("1.0        512M   93%")) << lines[4];
}

TEST(Frame, ANarrowOneKeepsWhatTellsRacksApart) {
  Picture picture = job(40, 8);
  picture.program = "train.py";
  picture.id = "4711";
  for (Picture::Node& node : picture.nodes) node.location = "/hall/row0" + node.location.raw();
  const std::string job = "train.py (4711) | running | 1 min 15 s | ";
  for (const auto& [width, title, rack] :
       {std::tuple<std::size_t, std::string, std::string>{120, "40 nodes | 320 ranks: 320 run",
                                                          "+ hall/row0/rack0 (2 nodes)  "},
        {80, "40 nodes | 320 ranks: 320 run", "+ …row0/rack0 (2)  "},
        {61, "320 ranks: 320 run", "+ hall/row0/rack0 (2)  "}}) {
    const Lines lines = frame(picture, {}, {.columns = width, .rows = 24}, no_colours).lines;
    EXPECT_EQ(lines[0], job + title);
    EXPECT_TRUE(lines[2].contains(rack)) << lines[2];
  }
}

TEST(Frame, OfManyPhasesTheLastOnesFit) {
  using std::chrono::milliseconds;
  Picture picture = job(1, 1);
  picture.phases.join = picture.phases.order = milliseconds(900);
  picture.phases.spawn = milliseconds(1'400);
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "after: joined 900 ms, ordered 900 ms, started 1.4 s");
  EXPECT_EQ(frame(picture, {}, {.columns = 40, .rows = 10}, no_colours).lines[1],
            "after: ordered 900 ms, started 1.4 s");
}

TEST(Frame, FitsIntoEveryTerminal) {
  for (const auto& [nodes, ranks] :
       {std::pair<std::size_t, std::size_t>{1, 8}, {64, 8}, {300, 4}}) {
    Picture picture = job(nodes, ranks);
    picture.hang = std::string(300, 'x');
    picture.messages.assign(9, {WallTime(), "toprun: " + std::string(300, 'y')});
    for (const TerminalSize size : {TerminalSize{40, 10}, {80, 24}, {200, 50}, {41, 11}}) {
      for (const Look& look : {no_colours, Look{.colour = true, .columns = 0}}) {
        const Lines lines = frame(picture, {}, size, look).lines;
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
            Lines{"at least 40 x 10 characters"});
}

TEST(Frame, WhoIsAwaitedAndWhatIsWrong) {
  Picture picture;
  picture.name = "train";
  picture.stage = "gathering";
  picture.joined = 2;
  picture.most_nodes = 4;
  picture.missing = {"n2", "n3"};
  picture.missing_count = 2;
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "2 of 4 nodes have joined, not n2 and 1 other");
  picture = job(2, 1);
  picture.awaited = view::Awaited{true, 1, 2, 1, "n1"};
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[1],
            "1 of 2 ranks have come to the store, not rank 1 on n1");
  picture.attempts = {{0, {}, {}, "rank 1 on n1 exited with 1"}, {1, {}, {}, ""}};
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[2],
            "attempt 0: rank 1 on n1 exited with 1");
  picture.hang = "rank 0 keeps the others waiting";
  EXPECT_EQ(frame(picture, {}, usual, no_colours).lines[2], "rank 0 keeps the others waiting");
}

TEST(Frame, NoTextControlsTheTerminal) {
  const std::string evil =
      "\x1b]0;evil\x07\x1b[2J\xc2\x9b"
      "5n\r\n";
  Picture picture = job(1, 1);
  picture.name = picture.id = picture.stage = picture.hang = evil;
  picture.nodes[0].name = evil;
  picture.nodes[0].location = "/" + evil + "/" + evil;
  picture.messages = {{WallTime(), evil}};
  picture.attempts = {{0, {}, {}, evil}};
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
  picture.attempt = 1;
  picture.nodes[1].logs = "/tmp/logs";
  State state;
  state.selected = {Kind::rank, 3};
  EXPECT_EQ(log_of(picture, state).path, "/tmp/logs/attempt_1/1/stdout.log");
  EXPECT_EQ(log_of(picture, state).node, "n1");
  state.selected = {Kind::node, 1};
  EXPECT_EQ(log_of(picture, state).path, "/tmp/logs/attempt_1/0/stdout.log");
  state.selected = {Kind::rack, 0};
  EXPECT_EQ(log_of(picture, state).path, "") << "none is kept";
  state.selected = {Kind::rank, 99};
  EXPECT_EQ(log_of(picture, state).node, "");
  // A stranger's node could name an option of the pager in place of a folder.
  picture.nodes[0].logs = "+!touch /tmp/x;";
  EXPECT_TRUE(log_of(picture, {}).path.empty());
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
