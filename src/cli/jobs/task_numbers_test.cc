#include <gtest/gtest.h>

#include "cli/jobs/job_story.h"

namespace toprun::jobs {
namespace {

TEST(TaskNumbers, SlurmsFormsAreRead) {
  const struct {
    const char* text;
    std::optional<TaskNumbers> tasks;
  } cases[] = {
      {"3", {{3}}},
      {"1-3,7", {{1, 2, 3, 7}}},
      {"0-8:4", {{0, 4, 8}}},
      {"[4-6%2]", {{4, 5, 6}}},
      {"7,1-2,2", {{1, 2, 7}}},
      {"5-4", {TaskNumbers{}}},
      {"1,3,...", std::nullopt},
      {"", std::nullopt},
      {"-1", std::nullopt},
      {"1-2:0", std::nullopt},
      {"0-9999999999", std::nullopt},
  };
  for (const auto& [text, tasks] : cases) EXPECT_EQ(parse_tasks(text), tasks) << text;
}

TEST(TaskNumbers, TextHasRanges) {
  EXPECT_EQ(tasks_text({1, 2, 3, 7, 9, 10}), "1-3,7,9-10");
  EXPECT_EQ(tasks_text({5}), "5");
  EXPECT_EQ(tasks_text({}), "");
}

TEST(TaskNumbers, WhatTwoHaveInCommonAndWhatOneLacks) {
  EXPECT_EQ(common_tasks({1, 2, 3}, {2, 3, 4}), (TaskNumbers{2, 3}));
  EXPECT_EQ(common_tasks({1}, {2}), TaskNumbers{});
  EXPECT_EQ(all_tasks({1, 3}, {2, 3}), (TaskNumbers{1, 2, 3}));
  EXPECT_EQ(tasks_without({1, 2, 3}, {2}), (TaskNumbers{1, 3}));
}

}  // namespace
}  // namespace toprun::jobs
