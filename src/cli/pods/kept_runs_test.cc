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
    const auto id = parse_run_id(text);
    ASSERT_TRUE(id && *id) << text;
    EXPECT_EQ((*id)->job, job);
    EXPECT_EQ((*id)->run, run);
  }
  for (const std::string_view text :
       {"dev", "17", "12_3", "", "/1f", "dev/1/2", "./r", "logs/report.json"}) {
    EXPECT_FALSE(parse_run_id(text)) << text;
  }
  for (const std::string_view text :
       {"dev/x", "dev/..", "dev/$(x)", "dev/0123456789abcdef0123456789abcdef0"}) {
    const auto id = parse_run_id(text);
    ASSERT_TRUE(id) << text;
    EXPECT_FALSE(*id) << text;
  }
  EXPECT_EQ(parse_run_id("job/foo")->error().line(),
            "run job/foo: the run's id does not have the form JOB/RUN; for the job foo, write foo "
            "without its kind");
}

}  // namespace
}  // namespace toprun::pods
