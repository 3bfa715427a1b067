#include "cli/jobs/predecessors.h"

#include <gtest/gtest.h>

namespace toprun::jobs {
namespace {

using engines::JobState;

KnownJob in_state(JobState state, std::optional<int> code = std::nullopt) {
  KnownJob known;
  known.job.emplace();
  known.job->state = state;
  known.job->exit_code = code;
  return known;
}

KnownJob forgotten(std::optional<int> code) {
  KnownJob known;
  known.files.emplace();
  model::RunRecord& run = known.report.emplace().run;
  if (code) {
    run.exit_code = *code;
  } else {
    run.running_at = WallTime{};
  }
  return known;
}

TEST(Predecessors, AfterNamesAJobAndADemand) {
  const std::pair<const char*, const char*> good[] = {
      {"12", "afterok:12"},          {"12:ok", "afterok:12"},       {"12:any", "afterany:12"},
      {"12:notok", "afternotok:12"}, {"12_3:any", "afterany:12_3"},
  };
  for (const auto& [text, expected] : good) {
    const auto after = parse_after(text);
    ASSERT_TRUE(after) << text;
    EXPECT_EQ(dependency_text(*after), expected);
  }
  for (const char* text : {"", "0", "x", "12:", "12:maybe", "12_", "12_[1-3]", "12+1", ":ok"}) {
    EXPECT_FALSE(parse_after(text)) << text;
  }
}

TEST(Predecessors, FateOfAJobAndOfAnArray) {
  const auto done = in_state(JobState::completed);
  const auto bad = in_state(JobState::failed, 3);
  const auto waits = in_state(JobState::pending);
  const auto cancelled = in_state(JobState::cancelled);
  struct Case {
    std::vector<KnownJob> known;
    Fate expected;
  };
  const Case cases[] = {
      {{}, Fate::unknown},
      {{done}, Fate::succeeded},
      {{bad}, Fate::failed},
      {{cancelled}, Fate::failed},
      {{waits}, Fate::lives},  // a requeued job too
      {{in_state(JobState::completing)}, Fate::lives},
      {{in_state(JobState::unknown)}, Fate::lives},
      {{done, waits}, Fate::lives},
      {{done, bad, waits}, Fate::fails},
      {{done, bad}, Fate::failed},
      {{done, done}, Fate::succeeded},
      {{forgotten(0)}, Fate::succeeded},
      {{forgotten(1)}, Fate::failed},
      {{forgotten(std::nullopt)}, Fate::ended},
      {{KnownJob{}}, Fate::ended},
  };
  for (const Case& one : cases) EXPECT_EQ(fate_of(one.known), one.expected) << &one - cases;
}

TEST(Predecessors, WhatAFateMeansForADemand) {
  struct Row {
    Fate fate;
    Prospect ok, any, notok;
  };
  using enum Prospect;
  constexpr Row rows[] = {
      {Fate::lives, wait, wait, wait},      {Fate::fails, never, wait, wait},
      {Fate::succeeded, met, met, never},   {Fate::failed, never, met, met},
      {Fate::ended, unclear, met, unclear}, {Fate::unknown, unclear, unclear, unclear},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(prospect(row.fate, Demand::ok), row.ok);
    EXPECT_EQ(prospect(row.fate, Demand::any), row.any);
    EXPECT_EQ(prospect(row.fate, Demand::notok), row.notok);
  }
}

}  // namespace
}  // namespace toprun::jobs
