#include "engines/slurm/scontrol_record.h"

#include <gtest/gtest.h>

namespace toprun::engines::slurm {
namespace {

using std::chrono::seconds;

TEST(SlurmRecord, FindsValuesWithBlanksInThem) {
  const Record record(
      "JobId=7 JobName=a b=c d UserId=me(0) Account=(null) ReqB:S:C:T=0:0:*:* TRES=cpu=2,node=1 "
      "Comment=x Foo=y WorkDir=/tmp/my folder StdOut=/tmp/my folder/%x StdOut=/last Power= ");
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"JobId", "7"},
           {"JobName", "a b=c d"},
           {"UserId", "me(0)"},
           {"Account", ""},
           {"ReqB:S:C:T", "0:0:*:*"},
           {"TRES", "cpu=2,node=1"},
           {"WorkDir", "/tmp/my folder"},
           {"StdOut", "/tmp/my folder/%x"},
           {"Power", ""},
           {"Nothing", ""},
       }) {
    EXPECT_EQ(record.get(key), value) << key;
  }
  EXPECT_EQ(record.last("StdOut"), "/last");
}

TEST(SlurmRecord, SplitsAnAnswerIntoRecords) {
  EXPECT_EQ(record_lines("warning: x\nJobId=1 A=b\nJobId=2 JobName=two\nlines\n\nJobId=3", "JobId"),
            (std::vector<std::string_view>{"JobId=1 A=b\n", "JobId=2 JobName=two\nlines\n\n",
                                           "JobId=3"}));
  EXPECT_TRUE(record_lines("No jobs in the system\n", "JobId").empty());
  EXPECT_TRUE(record_lines("", "JobId").empty());
}

TEST(SlurmRecord, ReadsDurations) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::optional<seconds>>>{
           {"0:07", seconds(7)},
           {"01:02:03", seconds(3723)},
           {"2-00:00:01", seconds(172'801)},
           {"365-00:00:00", seconds(31'536'000)},
           {"UNLIMITED", {}},
           {"NONE", {}},
           {"INVALID", {}},
           {"", {}},
           {"7", {}},
           {"1:2:3:4", {}},
           {"-1-00:00:00", {}},
           {"99999999-00:00:00", {}},
           {"00:100", {}},
       }) {
    EXPECT_EQ(duration(text), expected) << text;
  }
}

TEST(SlurmRecord, ReadsTimes) {
  const auto at = [](std::int64_t s) { return WallTime(seconds(s)); };
  EXPECT_EQ(moment("1795318177"), at(1'795'318'177));
  for (const char* text : {"", "Unknown", "N/A", "None", "0", "-5", "99999999999999", "2026-11-22",
                           "2026-11-22T03:26:11 and more"}) {
    EXPECT_EQ(moment(text), std::nullopt) << text;
  }
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(moment("2026-11-22T03:26:11"), at(1'795'317'971));
}

}  // namespace
}  // namespace toprun::engines::slurm
