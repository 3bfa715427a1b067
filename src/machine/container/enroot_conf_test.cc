#include "machine/container/enroot_conf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::container {
namespace {

TEST(EnrootConf, Lines) {
  EnrootConf conf;
  parse_enroot_conf(
      "#ENROOT_DATA_PATH /no\n"
      "ENROOT_DATA_PATH   /raid/${USER}  # fast\n"
      "\tENROOT_TEMP_PATH=/tmp\n"
      "ENROOT_EMPTY\n"
      "ENROOT_DATA_PATH /later\n"
      "export X\n; y\n",
      "enroot.conf", conf);
  EXPECT_EQ(conf["ENROOT_DATA_PATH"].value, "/raid/${USER}");
  EXPECT_EQ(conf["ENROOT_DATA_PATH"].origin, "enroot.conf:2");
  EXPECT_EQ(conf["ENROOT_TEMP_PATH"].value, "/tmp");
  EXPECT_FALSE(conf.contains("ENROOT_EMPTY") || conf.contains(";"));
}

TEST(EnrootConf, Values) {
  struct Case {
    const char* value;
    const char* expanded;  // nullptr: an error
  };
  const Case cases[] = {
      {"/a", "/a"},
      {"/raid/$USER/x", "/raid/ada/x"},
      {"\"/raid/${USER}\"", "/raid/ada"},
      {"/u/$(id -u)", "/u/7"},
      {"${NOT}/x", "/x"},
      {"${NOT:-/b}/x", "/b/x"},
      {"${NOT-${USER}}", "ada"},
      {"${EMPTY-x}", ""},
      {"${EMPTY:-x}", "x"},
      {"$(hostname)", nullptr},
      {"${USER", nullptr},
      {"${USER//a/b}", nullptr},
      {"`id`", nullptr},
      {"$", nullptr},
  };
  const Environment environment{{"USER", "ada"}, {"UID", "7"}, {"EMPTY", ""}};
  for (const Case& test : cases) {
    const auto value = expand_enroot(test.value, environment);
    ASSERT_EQ(value.has_value(), test.expanded != nullptr) << test.value;
    if (test.expanded != nullptr) {
      EXPECT_EQ(*value, test.expanded) << test.value;
    }
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "${A:-";
  deep.append(100'000, '}');
  EXPECT_FALSE(expand_enroot(deep, {}));
}

TEST(EnrootConf, WhereContainersLie) {
  const TemporaryFolder root;
  const auto put = [&](const char* name, const char* text) {
    const auto file = root.path() / "etc/enroot" / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  const auto data_path = [&](const Environment& environment) {
    const SourcedPath found = enroot_data_path(environment, root.path());
    return fmt::format("{} {}", found.path,
                       found.source.starts_with(root.path().native())
                           ? found.source.substr(root.path().native().size())
                           : found.source);
  };
  EXPECT_EQ(data_path({{"HOME", "/h"}}), "/h/.local/share/enroot HOME");
  EXPECT_EQ(data_path({{"HOME", "/h"}, {"XDG_DATA_HOME", "/d"}}), "/d/enroot XDG_DATA_HOME");
  put("enroot.conf", "# site\nENROOT_DATA_PATH /enroot/$UID/data\n");
  EXPECT_EQ(data_path({}), fmt::format("/enroot/{}/data /etc/enroot/enroot.conf:2", geteuid()));
  put("enroot.conf.d/10-raid.conf", "ENROOT_DATA_PATH /raid/$(id -u)\n");
  put("enroot.conf.d/20-late.conf", "ENROOT_DATA_PATH /late\n");
  put("enroot.conf.d/00-other", "ENROOT_DATA_PATH /other\n");
  EXPECT_EQ(data_path({}),
            fmt::format("/raid/{} /etc/enroot/enroot.conf.d/10-raid.conf:1", geteuid()));
  EXPECT_EQ(data_path({{"ENROOT_DATA_PATH", "/e"}}), "/e ENROOT_DATA_PATH");
}

}  // namespace
}  // namespace toprun::container
