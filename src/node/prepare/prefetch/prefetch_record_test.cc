#include "node/prepare/prefetch/prefetch_record.h"

#include <gtest/gtest.h>

namespace toprun::prefetch {
namespace {

std::string with(const std::string& lines) {
  return "toprun prefetch 1\n" + lines + "\nend\n";
}

TEST(PrefetchRecord, SaysWhatIsReadOfEachFile) {
  const auto record =
      parse_record(with("packages -17 /v/site-packages\n"
                        "whole /v/a lib\n"
                        "part 65536 8192 /v/b.so\n"
                        "look /v/__init__.so"));
  ASSERT_TRUE(record) << record.error().line();
  ASSERT_EQ(record->packages.size(), 1u);
  EXPECT_EQ(record->packages[0].path, "/v/site-packages");
  EXPECT_EQ(record->packages[0].changed_ns, -17);
  ASSERT_EQ(record->entries.size(), 3u);
  EXPECT_EQ(record->entries[0].kind, Entry::Kind::whole);
  EXPECT_EQ(record->entries[0].path, "/v/a lib");
  EXPECT_EQ(record->entries[1].kind, Entry::Kind::part);
  EXPECT_EQ(record->entries[1].path, "/v/b.so");
  EXPECT_EQ(record->entries[1].range.offset, 65536u);
  EXPECT_EQ(record->entries[1].range.length, 8192u);
  EXPECT_EQ(record->entries[2].kind, Entry::Kind::looked_at);
}

TEST(PrefetchRecord, WhatIsMalformedIsNoRecord) {
  const std::string whole = with("whole /v/a");
  ASSERT_TRUE(parse_record(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_record(whole.substr(0, size))) << "cut off after " << size;
  }
  for (const std::string& text : {std::string("toprun prefetch 2\nwhole /v/a\nend\n"),
                                  whole + "whole /v/b\n",
                                  with("/v/a"),
                                  with("whole"),
                                  with("whole v/a"),
                                  with("whole "),
                                  with("read /v/a"),
                                  with("whole /v/../../etc/a"),
                                  with("whole /v/.."),
                                  with("look /proc/kcore"),
                                  with("whole /dev/zero"),
                                  with("whole /" + std::string(5000, 'x')),
                                  with(std::string("whole /v/a\0b", 12)),
                                  with("part /v/a"),
                                  with("part 0 /v/a"),
                                  with("part -1 2 /v/a"),
                                  with("part 0 1e9 /v/a"),
                                  with("part 0 1099511627777 /v/a"),
                                  with("part 0 99999999999999999999 /v/a"),
                                  with("part 0 40000000000 /v/a\npart 0 40000000000 /v/a"),
                                  with("packages /v/a"),
                                  with("packages x /v/a"),
                                  with("packages 1 a")}) {
    EXPECT_FALSE(parse_record(text)) << text;
  }
}

}  // namespace
}  // namespace toprun::prefetch
