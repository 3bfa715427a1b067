#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "machine/container/image.h"

namespace toprun::container {
namespace {

std::string sif(std::string_view machine) {
  std::string bytes = "#!/usr/bin/env run-singularity\n";
  bytes.resize(32, '\0');
  bytes += std::string(
      "SIF_MAGIC\0"
      "01\0",
      13);
  bytes += machine;
  bytes.resize(200, '\0');
  return bytes;
}

TEST(ImageFile, WhatIsLookedAt) {
  const TemporaryFolder folder;
  struct Case {
    const char* name;
    std::string content;
    const char* error;  // "": it is fine
  };
  const Case cases[] = {
      {"a.sif", sif("02"), ""},
      {"arm.sif", sif("04"),
       "the image is for arm64, but this machine is x86_64; build the image on a machine with"},
      {"new.sif", sif("99"), ""},
      {"cut.sif", sif("02").substr(0, 40), "is not a SIF file; perhaps the file was not"},
      {"old.simg", "hsqs....", ""},
      {"older.simg", "#!/usr/bin/env run-singularity\nhsqs....", ""},
      {"text.sif", "hello", "is not a SIF file"},
      {"a.sqsh", "hsqs....", ""},
      {"empty.sqsh", "", "is not a squashfs file"},
      {"image", "x", "the name does not show the kind of image; rename the image"},
      {"a.tar", "", ""},
  };
  for (const Case& test : cases) {
    const std::string path = (folder.path() / test.name).native();
    std::ofstream(path) << test.content;
    const auto fine = check_image_file(path, "n1", "x86_64");
    const std::string line = fine ? "" : fine.error().line();
    const std::string_view error = test.error;
    EXPECT_EQ(fine.has_value(), error.empty()) << line;
    EXPECT_TRUE(line.contains(error)) << line;
    EXPECT_TRUE(fine || line.starts_with("container image " + path + " on n1: ")) << line;
  }
}

TEST(ImageFile, NotThere) {
  const TemporaryFolder folder;
  EXPECT_EQ(check_image_file("/no/such.sif", "n1", "x86_64").error().line(),
            "container image /no/such.sif on n1: No such file or directory; check the path, and "
            "whether this node has mounted its file system");
  EXPECT_TRUE(check_image_file(folder.path().native(), "n1", "x86_64"));
  EXPECT_TRUE(check_image_file("docker://python", "n1", "x86_64"));
  std::filesystem::create_directory(folder.path() / "a.sif");
  EXPECT_TRUE(check_image_file((folder.path() / "a.sif").native(), "n1", "x86_64")
                  .error()
                  .line()
                  .ends_with("is not a file"));
}

TEST(ImageFile, NotReadable) {
  constexpr uid_t nobody = 65534;
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.sif").native();
  std::ofstream(path) << sif("02");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const uid_t self = geteuid();
  ASSERT_EQ(seteuid(self == 0 ? nobody : self), 0);
  const auto fine = check_image_file(path, "n1", "x86_64");
  ASSERT_EQ(seteuid(self), 0);
  ASSERT_FALSE(fine);
  EXPECT_TRUE(fine.error().line().contains("Permission denied; check its permissions: ls -l "))
      << fine.error().line();
}

}  // namespace
}  // namespace toprun::container
