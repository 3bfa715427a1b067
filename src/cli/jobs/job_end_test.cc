#include <gtest/gtest.h>

#include "cli/jobs/job_words.h"

namespace toprun::jobs {
namespace {

TEST(JobEnd, FailedDependenciesAreThoseThatSlurmMarks) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"", {}},
      {"afterok:12(failed)", {"12"}},
      {"afterok:12(unfulfilled)", {}},
      {"afterok:12(failed),afterany:13(unfulfilled),afterok:14_2(failed)", {"12", "14_2"}},
      {"afterok:12(failed)?afterok:13(failed)", {"12", "13"}},
      {"afterok:12_*(failed)", {"12"}},
      {"singleton(unfulfilled)", {}},
      {"(failed):x", {}},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(failed_dependencies(text), expected) << text;
}

}  // namespace
}  // namespace toprun::jobs
