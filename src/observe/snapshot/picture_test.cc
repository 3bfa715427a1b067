#include "observe/snapshot/picture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "observe/snapshot/snapshot.h"
#include "run/conductor/coordinator.h"

namespace toprun::snapshot {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

TEST(Stages, AllOfARunHaveWords) {
  std::size_t found = 0;
  for (auto stage = run::Stage::gathering; stage <= run::Stage::over;
       stage = static_cast<run::Stage>(static_cast<int>(stage) + 1)) {
    const auto is_called = [&](const NamedStage& named) { return named.name == name_of(stage); };
    EXPECT_EQ(std::ranges::count_if(stages_by_name(), is_called), 1) << name_of(stage);
    ++found;
  }
  EXPECT_EQ(stages_by_name().size(), found + 1) << "and stopping_stage";
  EXPECT_EQ(words_of_stage(stopping_stage), "stopping its ranks");
  EXPECT_EQ(words_of_stage("of a newer toprun"), "of a newer toprun");
}

const WallTime start{1'795'318'177'250ms};
const SteadyTime steady{100s};

model::AttemptRecord attempt(int number) {
  model::AttemptRecord record;
  record.attempt = number;
  record.started = start;
  record.nodes = {{"n0", 0, 0, 2, "/rack0/n0", "/logs"}, {"n1", 1, 2, 1, ""}};
  return record;
}

Run pictured_run() {
  Run run;
  model::AttemptRecord failed = attempt(0);
  failed.ended = start + 1min;
  failed.cause.emplace();
  failed.cause->kind = model::CauseKind::exit;
  failed.cause->rank = 2;
  failed.cause->node = "n1";
  failed.cause->exit_code = 7;
  failed.cause->message = "ValueError: boom";
  model::AttemptRecord now = attempt(1);
  now.phases.join = 41ms;
  now.phases.first_collective = 2s;
  now.spreads.import = model::Spread{3, 1s, 3s, 2, "n1"};
  now.awaited = model::Awaited{true, 2, 3, 2, "n1"};
  now.hang.emplace();
  now.hang->noticed = start + 90s;
  now.hang->after = 30s;
  now.hang->verdict.what = "rank 2 on n1 sleeps";
  now.hang->verdict.groups = {
      {{hang::Doing::communicates, "", {{"all_reduce", "/t/distributed_c10d.py", 1}}, "", {}},
       {0, 1}},
      {{hang::Doing::uninterruptible, "", {{"load", "/job/hang.py", 5}}, "", {}}, {2}}};
  run.record = {"a job", "n0", 4711, {}, 0, start, {}, {failed, now}, 1};
  run.record.gathering = model::Gathering{{"n0", "n1"}, {"n2"}, 3, 3, {}, start + 10min};
  run.id = "17";
  run.record.title = "bigrun";
  run.record.program = "train.py";
  run.limit = start + 1h;
  run.node_log = "/logs/17";
  run.stage = "running";
  run.least_nodes = 1;
  run.most_nodes = 2;
  run.max_restarts = 3;
  run.joined = 2;
  run.missing = {"n2"};
  run.hangs = true;
  run.messages = {{start, "n1 was lost"}};
  run.interval = 2s;
  return run;
}

Board board() {
  Board board;
  board.begin(2, 3);
  board.started({0, 0, 2});
  board.started({1, 2, 1});
  meter::Node usage;
  usage.host = {16, 3.456, 2u << 20, 8u << 20, 1.54e6, std::nullopt};
  usage.ranks = {{1.004, 3u << 20, 1'240ms, meter::Gpu{97, 5u << 20, 9u << 20}, "step 7"}, {}};
  board.measured({0, 0, 2}, usage, steady - 300ms);
  return board;
}

json picture(const Run& run, const Board& board) {
  const json job = job_json(run, start + 2min), nodes = nodes_json(nodes_of(run.record)),
             figures = figures_json(board, run.hangs ? Hanging{{2}, {0}} : Hanging{}, start + 2min,
                                    steady);
  return json::parse(picture_text(job.dump(), nodes.dump(), figures.dump()));
}

TEST(Picture, ShowsTheRunAsItsRootKnowsIt) {
  const auto read = picture_in(picture(pictured_run(), board()));
  ASSERT_TRUE(read);
  const model::AttemptRecord& last = model::last_attempt(read->run);
  EXPECT_EQ(read->run.job, "a job");
  EXPECT_EQ(read->id, "17");
  EXPECT_EQ(read->run.title, "bigrun");
  EXPECT_EQ(read->run.program, "train.py");
  EXPECT_EQ(read->limit, start + 1h);
  EXPECT_EQ(read->node_log, "/logs/17");
  EXPECT_EQ(read->run.root_host, "n0");
  EXPECT_EQ(read->run.root_pid, 4711);
  EXPECT_EQ(read->stage, "running");
  EXPECT_EQ(read->run.started, start);
  EXPECT_EQ(read->now, start + 2min);
  EXPECT_EQ(read->most_nodes, 2);
  EXPECT_EQ(model::last_attempt(read->run).attempt, 1);
  EXPECT_EQ(read->run.restarts, 1);
  EXPECT_EQ(read->run.max_restarts, 3);
  EXPECT_EQ(read->joined, 2);
  EXPECT_EQ(read->missing, std::vector<Outside>{"n2"});
  EXPECT_EQ(read->missing_count, 1u);
  EXPECT_EQ(read->here, (std::vector<Outside>{"n0", "n1"}));
  EXPECT_EQ(read->waits_until, start + 10min);
  EXPECT_EQ(read->begins_at, std::nullopt);
  EXPECT_EQ(last.phases.join, 41ms);
  EXPECT_EQ(last.phases.order, std::nullopt);
  EXPECT_EQ(last.phases.first_collective, 2s);
  EXPECT_EQ(last.spreads.import->node, "n1");
  EXPECT_EQ(last.awaited->rank, 2);
  EXPECT_EQ(model::headline(*last.hang),
            "no rank has made progress for 30.0 s: rank 2 on n1 sleeps");
  EXPECT_EQ(last.hang->verdict.what, "rank 2 on n1 sleeps");
  EXPECT_EQ(model::since(*last.hang), start + 60s);
  ASSERT_EQ(read->run.attempts.size(), 2u);
  EXPECT_EQ(read->run.attempts[0].cause->what, "rank 2 on n1 ended with exit code 7");
  EXPECT_EQ(read->run.attempts[0].cause->message, "ValueError: boom");
  EXPECT_EQ(read->run.attempts[0].ended, start + 1min);
  EXPECT_FALSE(last.cause);
  EXPECT_EQ(model::reported_code(read->run), 0);
  const Picture::Place* place = place_of(*read, 2);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->text.raw(), "hangs in the kernel at hang.py:5 in load");
  EXPECT_EQ(place->stack, std::vector<Outside>{"load, /job/hang.py:5"});
  EXPECT_TRUE(place_of(*read, 1));
  EXPECT_FALSE(place_of(*read, 3));
  EXPECT_EQ(read->messages[0].text, "n1 was lost");
  EXPECT_EQ(read->interval_s, 2);
}

TEST(Picture, ShowsWhatRanksAndNodesUse) {
  const auto read = picture_in(picture(pictured_run(), board()));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->nodes.size(), 2u);
  const Picture::Node& node = read->nodes[0];
  EXPECT_EQ(node.name, "n0");
  EXPECT_EQ(node.location, "/rack0/n0");
  EXPECT_EQ(node.logs, "/logs");
  EXPECT_EQ(node.age_s, 0.3);
  EXPECT_EQ(node.busy_cpus, 3.46);
  EXPECT_EQ(node.cpus, 16);
  EXPECT_EQ(node.memory_total_mib, 8);
  EXPECT_EQ(node.received_mb_per_s, 1.5);
  EXPECT_EQ(node.sent_mb_per_s, std::nullopt);
  EXPECT_EQ(read->nodes[1].age_s, std::nullopt);
  EXPECT_EQ(read->nodes[1].first_rank, 2u);
  ASSERT_EQ(read->ranks.size(), 3u);
  EXPECT_EQ(read->ranks[0].state, RankState::blocked) << "it is in all_reduce while the job hangs";
  EXPECT_EQ(read->ranks[0].code, std::nullopt);
  EXPECT_EQ(read->ranks[0].busy_cpus, 1.0);
  EXPECT_EQ(read->ranks[0].memory_mib, 3);
  EXPECT_EQ(read->ranks[0].silence_s, 1.2);
  EXPECT_EQ(read->ranks[0].gpu_percent, 97);
  EXPECT_EQ(read->ranks[0].gpu_memory_mib, 5);
  EXPECT_EQ(read->ranks[1].busy_cpus, std::nullopt);
  EXPECT_EQ(read->ranks[2].state, RankState::suspect);
  EXPECT_EQ(read->ranks[0].line, "step 7");
  EXPECT_EQ(read->ranks[1].line, "");
}

TEST(Picture, OnlyAHangBlocksRanks) {
  snapshot::Run run = pictured_run();
  run.hangs = false;
  const auto read = picture_in(picture(run, board()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ranks[0].state, RankState::runs);
}

TEST(Picture, AFailedRankHasItsCode) {
  Board failed = board();
  model::WorkerExit exit;
  exit.rank = 0;
  exit.exit_code = 3;
  exit.last_output = {"loaded shard 7", "bye"};
  failed.ended(exit);
  exit.rank = 1;
  exit.ours = true;
  failed.ended(exit);
  const auto read = picture_in(picture(pictured_run(), failed));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ranks[0].code, 3);
  EXPECT_EQ(read->ranks[0].lines, (std::vector<Outside>{"loaded shard 7", "bye"}));
  EXPECT_EQ(read->ranks[1].code, std::nullopt);
  EXPECT_EQ(read->ranks[2].code, std::nullopt);
}

TEST(Picture, OfAReportNamesOnlyWhatItTells) {
  model::RunRecord run;
  run.ended = WallTime(std::chrono::seconds(200));
  model::AttemptRecord& last = run.attempts.emplace_back();
  last.nodes = {{"n0", 0, 0, 2, "/r1/n0"}, {"n1", 1, 2, 2, "/r1/n1"}};
  const auto states = [&] {
    std::string letters;
    for (const Picture::Rank& rank : last_picture(run, "17").ranks) {
      letters += static_cast<char>(rank.state);
    }
    return letters;
  };
  EXPECT_EQ(states(), "dddd");
  model::Cause& cause = last.cause.emplace();
  cause.kind = model::CauseKind::exit;
  cause.rank = 3;
  cause.exit_code = 7;
  cause.last_output = {"step 1", "boom"};
  EXPECT_EQ(states(), "kkkf");
  const Picture picture = last_picture(run, "17");
  EXPECT_EQ(picture.ranks[3].code, 7);
  EXPECT_EQ(picture.ranks[3].line.raw(), "boom");
  EXPECT_EQ(picture.nodes[1].first_rank, 2u);
  last.failed_too = {{{1, 99}, 5, std::nullopt, false, false, "ValueError: x"}};
  EXPECT_EQ(states(), "kfkf");
  EXPECT_EQ(last_picture(run, "17").ranks[1].code, 5);
  last.failed_too = {};
  cause.rank = 99;  // of a file that somebody wrote
  EXPECT_EQ(states(), "kkkk");
  cause.kind = model::CauseKind::node_lost;
  cause.rank.reset();
  cause.node = "n1";
  EXPECT_EQ(states(), "kkll");
  cause.kind = model::CauseKind::hang;
  last.hang.emplace().verdict.suspects = {1, -1, 4};
  EXPECT_EQ(states(), "kkkk");  // the run has ended, so no rank hangs any more
}

TEST(Picture, FindsWhoSpokeLast) {
  Picture picture;
  picture.ranks.resize(4);
  EXPECT_EQ(newest_to_speak(picture, 0, 4), std::nullopt);
  picture.ranks[0].line = picture.ranks[1].line = picture.ranks[2].line = "step 7";
  picture.ranks[0].silence_s = 9;
  picture.ranks[1].silence_s = 2;
  picture.ranks[3].silence_s = 0;
  EXPECT_EQ(newest_to_speak(picture, 0, 9), 1u);
  EXPECT_EQ(newest_to_speak(picture, 2, 4), 2u);
}

TEST(Picture, OfARunWithoutPlacesIsEmpty) {
  snapshot::Run early;
  early.record.running_at = start;
  early.hangs = true;
  const auto read = picture_in(picture(early, Board()));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->nodes.empty() && read->ranks.empty());
  EXPECT_EQ(model::reported_code(read->run), std::nullopt);
}

TEST(Picture, RefusesWhatIsNone) {
  const json good = picture(pictured_run(), board());
  EXPECT_FALSE(picture_in(json()));
  EXPECT_FALSE(picture_in(json::array({1})));
  json other = good;
  other["schema"] = "toprun.live/2";
  EXPECT_FALSE(picture_in(other));
  other = good;
  other["nodes"]["nproc"] = {2, 9};
  EXPECT_FALSE(picture_in(other));
  other["nodes"]["nproc"] = {2, 1};
  other["nodes"]["first_rank"] = {0, 4};
  EXPECT_FALSE(picture_in(other));
}

// Each value in turn becomes another kind of value.
void spoil(json& root, json& at) {
  for (const json& other :
       {json(nullptr), json(-1), json(1e300), json("x"), json::array({json()}), json({{"a", 1}})}) {
    const json kept = std::exchange(at, other);
    (void)picture_in(root);
    at = kept;
  }
  if (!at.is_structured()) return;
  for (json& below : at) spoil(root, below);
}

TEST(Picture, TakesWrongValuesAsUnknown) {
  json object = picture(pictured_run(), board());
  spoil(object, object);
  object["job"]["phases"] = 7;
  object["figures"]["ranks"]["cpu"] = {"x", nullptr};
  object["figures"]["ranks"]["state"] = "?rr";
  const auto read = picture_in(object);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ranks[0].busy_cpus, std::nullopt);
  EXPECT_EQ(read->ranks[0].state, RankState::waits);
}

}  // namespace
}  // namespace toprun::snapshot
