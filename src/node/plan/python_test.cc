#include <gtest/gtest.h>

#include <set>

#include "node/plan/program.h"

namespace toprun::plan {
namespace {

struct Case {
  std::string what;
  std::string argv0;
  Environment environment;
  std::set<std::string> executables;
  std::string path;
  std::string reason;
};

TEST(Python, TheFirstOfTheListThatIsThere) {
  const std::vector<Case> cases = {
      {"a variable that names a path",
       "/v/bin/toprun",
       {{"PYTHON_EXEC", "/p/python3.12"}, {"PATH", "/usr/bin"}},
       {"/v/bin/toprun", "/v/bin/python3", "/p/python3.12"},
       "/p/python3.12",
       "PYTHON_EXEC"},
      {"a variable that names a command",
       "toprun",
       {{"PYTHON_EXEC", "pypy3"}, {"PATH", "/usr/bin:/opt/bin"}},
       {"/opt/bin/pypy3", "/usr/bin/python3"},
       "/opt/bin/pypy3",
       "PYTHON_EXEC"},
      {"an empty variable counts as unset",
       "toprun",
       {{"PYTHON_EXEC", ""}, {"PATH", "/usr/bin"}},
       {"/usr/bin/python3"},
       "/usr/bin/python3",
       "PATH"},
      {"beside the path called, before an active environment",
       "/v/bin/toprun",
       {{"VIRTUAL_ENV", "/w"}, {"PATH", "/usr/bin"}},
       {"/v/bin/toprun", "/v/bin/python3", "/w/bin/python3", "/usr/bin/python3"},
       "/v/bin/python3",
       "beside /v/bin/toprun"},
      {"beside the toprun that PATH finds",
       "toprun",
       {{"PATH", "/a:/v/bin:/usr/bin"}},
       {"/v/bin/toprun", "/v/bin/python", "/usr/bin/python3"},
       "/v/bin/python",
       "beside /v/bin/toprun"},
      {"beside a relative path",
       "bin/toprun",
       {{"PATH", "/usr/bin"}},
       {"bin/toprun", "bin/python3"},
       "bin/python3",
       "beside bin/toprun"},
      {"a virtual environment",
       "/b/toprun",
       {{"VIRTUAL_ENV", "/w"}, {"CONDA_PREFIX", "/c"}, {"PATH", "/usr/bin"}},
       {"/b/toprun", "/w/bin/python", "/c/bin/python3", "/usr/bin/python3"},
       "/w/bin/python",
       "VIRTUAL_ENV"},
      {"a conda environment, the virtual one being gone",
       "/b/toprun",
       {{"VIRTUAL_ENV", "/w"}, {"CONDA_PREFIX", "/c"}, {"PATH", "/usr/bin"}},
       {"/b/toprun", "/c/bin/python3", "/usr/bin/python3"},
       "/c/bin/python3",
       "CONDA_PREFIX"},
      {"python3 anywhere in PATH before python",
       "/b/toprun",
       {{"PATH", "/x:/y"}},
       {"/b/toprun", "/x/python", "/y/python3"},
       "/y/python3",
       "PATH"},
      {"no PATH at all", "/b/toprun", {}, {"/usr/bin/python3"}, "/usr/bin/python3", "PATH"},
      {"an empty part of PATH is the working directory",
       "/b/toprun",
       {{"PATH", "/x:"}},
       {"./python3"},
       "./python3",
       "PATH"},
  };
  for (const Case& c : cases) {
    const auto python = choose_python(c.argv0, c.environment, "n3", [&](const std::string& path) {
      return c.executables.contains(path);
    });
    ASSERT_TRUE(python) << c.what << ": " << python.error().line();
    EXPECT_EQ(python->path, c.path) << c.what;
    EXPECT_EQ(python->reason, c.reason) << c.what;
  }
}

TEST(Python, ErrorsNameHostAndPlaces) {
  const auto only_toprun = [](const std::string& path) { return path == "/b/toprun"; };
  EXPECT_EQ(
      choose_python("/b/toprun", {{"PATH", "/x:/y"}, {"VIRTUAL_ENV", "/w"}}, "n3", only_toprun)
          .error()
          .line(),
      "no Python on host n3: no python3 or python in /b/, /w/bin, PATH=/x:/y; set PYTHON_EXEC, "
      "or give --no-python if the script is a program");
  EXPECT_EQ(choose_python("/b/toprun", {{"PYTHON_EXEC", "/p"}}, "n3", only_toprun).error().line(),
            "PYTHON_EXEC=/p on host n3: this is not an executable program; correct or unset "
            "PYTHON_EXEC");
}

TEST(Python, OnlyRegularExecutableFilesCount) {
  EXPECT_TRUE(process::is_executable_file("/bin/sh"));
  EXPECT_FALSE(process::is_executable_file("/bin"));
  EXPECT_FALSE(process::is_executable_file("/etc/passwd"));
  EXPECT_FALSE(process::is_executable_file("/nowhere"));
}

}  // namespace
}  // namespace toprun::plan
