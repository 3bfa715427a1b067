#include <gtest/gtest.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/agent/streams.h"

namespace toprun::agent {
namespace {

plan::Options with(std::optional<std::string> folder) {
  plan::Options options;
  options.node_log = std::move(folder);
  return options;
}

TEST(NodeLogTest, IsNamedByTheHost) {
  EXPECT_EQ(node_log_path(with({}), "n1"), std::nullopt);
  EXPECT_EQ(node_log_path(with("logs/7"), "n1"), "logs/7/n1.out");
  EXPECT_EQ(node_log_path(with("logs"), "../n1"), "logs/.._n1.out");
}

TEST(NodeLogTest, IsOpenedBehindWhatItHolds) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "a" / "b" / "n1.out";
  for (const std::string_view line : {"first\n", "second\n"}) {
    const auto file = open_node_log(path);
    ASSERT_TRUE(file) << file.error().line();
    ASSERT_EQ(::write(file->get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  EXPECT_EQ(read_file(path).value_or("?"), "first\nsecond\n");
}

TEST(NodeLogTest, SaysWhyItCannotBeOpened) {
  const auto file = open_node_log("/dev/null/n1.out");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().line(),
            "cannot open --node-log's /dev/null/n1.out: Not a directory; "
            "the job goes on without it");
}

}  // namespace
}  // namespace toprun::agent
