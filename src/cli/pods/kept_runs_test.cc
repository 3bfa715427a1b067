#include "cli/pods/kept_runs.h"

#include <gtest/gtest.h>

namespace toprun::pods {
namespace {

TEST(KeptRuns, Ids) {
  struct Case {
    std::string_view text, job, run;
  };
  for (const auto& [text, job, run] :
       {Case{"dev/1f3a9c02", "dev", "1f3a9c02"}, Case{"dev/", "dev", ""}}) {
    const auto id = parse_run_id(text, Folder::none);
    ASSERT_TRUE(id && *id) << text;
    EXPECT_EQ((*id)->job, job);
    EXPECT_EQ((*id)->run, run);
  }
  for (const std::string_view text :
       {"dev", "17", "12_3", "", "/1f", "dev/1/2", "./r", "logs/report.json", "logs/999"}) {
    EXPECT_FALSE(parse_run_id(text, Folder::none)) << text;
  }
  for (const std::string_view text :
       {"dev/x", "dev/..", "dev/$(x)", "dev/0123456789abcdef0123456789abcdef0"}) {
    const auto id = parse_run_id(text, Folder::none);
    ASSERT_TRUE(id) << text;
    EXPECT_FALSE(*id) << text;
  }
  for (const std::string_view text : {"logs/999", "logs/12345678", "logs/", "logs/train.17.out"}) {
    EXPECT_FALSE(parse_run_id(text, Folder::of_jobs)) << text;
  }
  for (const std::string_view text : {"dev/999", "dev/", "dev/1f3a9c0", "dev/train.17.out"}) {
    EXPECT_FALSE(parse_run_id(text, Folder::other)) << text;
  }
  EXPECT_TRUE(*parse_run_id("dev/1f3a9c02", Folder::of_jobs));
  EXPECT_TRUE(*parse_run_id("dev/48210937", Folder::other));
  EXPECT_EQ(parse_run_id("job/foo", Folder::none)->error().line(),
            "run job/foo: the run's id does not have the form JOB/RUN; for the job foo, write foo "
            "without its kind");
}

}  // namespace
}  // namespace toprun::pods
