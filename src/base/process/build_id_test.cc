#include "base/process/build_id.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/environment.h"
#include "base/process/command.h"

namespace toprun::process {
namespace {

TEST(BuildId, IsWhatReadelfShows) {
  const std::string id = build_id();
  EXPECT_EQ(id.size(), 40u);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const Environment environment = {{"PATH", "/usr/bin:/bin"}};
  const auto notes = output_of({"readelf", "--notes", self}, environment, std::chrono::seconds(10));
  ASSERT_TRUE(notes) << notes.error().line();
  EXPECT_TRUE(notes->contains("Build ID: " + id)) << id << "\n" << *notes;
}

}  // namespace
}  // namespace toprun::process
