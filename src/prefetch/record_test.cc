#include "prefetch/record.h"

#include <gtest/gtest.h>

namespace toprun::prefetch {
namespace {

TEST(PrefetchRecord, SaysWhatIsReadOfEachFile) {
  const auto record = parse_record(R"({"version": 1, "later": 3, "files": [
      {"path": "/v/lib"}, {"path": "/v/b.so", "ranges": [[0, 4096], [65536, 8192]], "x": 1},
      {"path": "/v/__init__.so", "ranges": []}]})");
  ASSERT_TRUE(record) << record.error().line();
  ASSERT_EQ(record->entries.size(), 3u);
  EXPECT_EQ(record->entries[0].path, "/v/lib");
  EXPECT_FALSE(record->entries[0].ranges);
  ASSERT_EQ(record->entries[1].ranges->size(), 2u);
  EXPECT_EQ(record->entries[1].ranges->at(1).offset, 65536u);
  EXPECT_EQ(record->entries[1].ranges->at(1).length, 8192u);
  EXPECT_TRUE(record->entries[2].ranges->empty());
  EXPECT_TRUE(record->folders.empty());
  const auto later = parse_record(R"({"version": 1, "files": [], "folders": [["/v/lib", 17]]})");
  ASSERT_TRUE(later) << later.error().line();
  EXPECT_EQ(later->folders.front().path, "/v/lib");
  EXPECT_EQ(later->folders.front().changed_ns, 17);
}

TEST(PrefetchRecord, WhatIsMalformedIsNoRecord) {
  const std::string nul = "{\"version\": 1, \"files\": [{\"path\": \"/v/a\\u0000b\"}]}";
  for (const std::string& text : {
           std::string(),
           std::string("[]"),
           std::string(R"({"files": []})"),
           std::string(R"({"version": 2, "files": []})"),
           std::string(R"({"version": 1})"),
           std::string(R"({"version": 1, "files": {}})"),
           std::string(R"({"version": 1, "files": ["/v/a"]})"),
           std::string(R"({"version": 1, "files": [{"path": 1}]})"),
           std::string(R"({"version": 1, "files": [{"path": "v/a"}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/../../etc/a"}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/.."}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/proc/kcore"}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/dev/zero"}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/a", "ranges": 1}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/a", "ranges": [[1]]}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/a", "ranges": [[-1, 2]]}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/a", "ranges": [[0, 1e9]]}]})"),
           std::string(
               R"({"version": 1, "files": [{"path": "/v/a", "ranges": [[0, 1099511627777]]}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/a", "ranges": [[0, 40000000000],
                           [0, 40000000000]]}]})"),
           std::string(R"({"version": 1, "files": [{"path": "/v/a"}]})").substr(0, 40),
           std::string(R"({"version": 1, "files": [{"path": "/)") + std::string(5000, 'x') +
               "\"}]}",
           nul,
           std::string(R"({"version": 1, "files": [], "folders": 3})"),
           std::string(R"({"version": 1, "files": [], "folders": [["/v"]]})"),
           std::string(R"({"version": 1, "files": [], "folders": [["/v", "x"]]})"),
       }) {
    EXPECT_FALSE(parse_record(text)) << text;
  }
}

}  // namespace
}  // namespace toprun::prefetch
