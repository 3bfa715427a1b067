#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/environment.h"
#include "base/process/command.h"

namespace toprun::process {
namespace {

std::string read_head(const char* path) {
  std::string head(64 << 10, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

TEST(BuildId, IsWhatReadelfShows) {
  const std::string id = build_id();
  EXPECT_EQ(id.size(), 40u);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const Environment environment = {{"PATH", "/usr/bin:/bin"}};
  const auto notes = output_of({"readelf", "--notes", self}, environment, std::chrono::seconds(10));
  ASSERT_TRUE(notes) << notes.error().line();
  EXPECT_TRUE(notes->contains("Build ID: " + id)) << id << "\n" << *notes;
}

TEST(BuildId, OfAFileIsThatOfItsProgram) {
  const std::string head = read_head("/proc/self/exe");
  EXPECT_EQ(build_id_in(head), build_id());
  for (std::size_t size = 0; size < 4'096; ++size) {
    const std::string id = build_id_in(std::string_view(head).substr(0, size));
    EXPECT_TRUE(id.empty() || id == build_id()) << size;
  }
  EXPECT_EQ(build_id_in("#!/bin/sh\n"), "");
  std::string wrong = head;
  for (std::size_t i = 16; i < 4'096; ++i) {
    wrong[i] = '\xff';
    build_id_in(wrong);  // reads nothing outside
  }
}

}  // namespace
}  // namespace toprun::process
