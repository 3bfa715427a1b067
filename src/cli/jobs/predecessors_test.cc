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

TEST(Predecessors, SeveralJobsAreGivenByTheOptionAgain) {
  const auto several = parse_after("36,37:any");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().line(),
            "--after 36,37:any: it takes one job; for several jobs, repeat the option: --after 36 "
            "--after 37:any");
}

TEST(Predecessors, ADependencyHasSeveralConditions) {
  const auto text_of = [](std::string_view dependency) {
    const Conditions conditions = parse_dependency(dependency);
    std::vector<std::string> texts;
    for (const After& after : conditions.all) texts.push_back(dependency_text(after));
    return join(texts, conditions.one_suffices ? "?" : ",");
  };
  const std::pair<const char*, const char*> rows[] = {
      {"afterok:3", "afterok:3"},
      {"afterok:3:12_4,afternotok:5", "afterok:3,afterok:12_4,afternotok:5"},
      {"afterok:3?afterany:4", "afterok:3?afterany:4"},
      {"after:3+10,aftercorr:4", "afterany:3,afterany:4"},
      {"singleton", ""},
      {"", ""},
      {"afterok:x,:3,afterok", ""},
  };
  for (const auto& [dependency, expected] : rows) {
    EXPECT_EQ(text_of(dependency), expected) << dependency;
  }
}

TEST(Predecessors, OnlyWhatCannotBeMetAnyMoreIsNamed) {
  const FindKnown find = [](const engines::JobId& id) {
    std::vector<KnownJob> known;
    if (id.number == "3") known.push_back(forgotten(3));
    if (id.number == "4") known.push_back(forgotten(0));
    if (id.number == "5") known.push_back(forgotten(std::nullopt));
    return known;
  };
  const auto never = [&](std::string_view dependency) {
    return join(never_met(parse_dependency(dependency), find), "; ");
  };
  EXPECT_EQ(never("afterok:3"), "job 3 failed, exit code 3");
  EXPECT_EQ(never("afterok:4,afternotok:3,afterany:3,afterok:5,afterok:9"), "");
  EXPECT_EQ(never("afternotok:4,afterok:3"),
            "job 4 ended with exit code 0; job 3 failed, exit code 3");
  EXPECT_EQ(never("afterok:3?afterok:5"), "");
  EXPECT_EQ(never("afterok:3?afternotok:4"),
            "job 3 failed, exit code 3; job 4 ended with exit code 0");
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
