#include "setup/build.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace toprun::setup {
namespace {

std::vector<std::string> lines_of(const Wanted& wanted, const Environment& environment = {}) {
  std::vector<std::string> lines;
  for (const Step& step : steps(wanted, environment)) lines.push_back(join(step.argv, " "));
  return lines;
}

TEST(Steps, MakeAVenvAndInstallAtOnce) {
  const std::string pip = "/e/bin/python -m pip install --no-input --disable-pip-version-check ";
  Wanted wanted{.venv = "/e", .python = "/usr/bin/python3"};
  EXPECT_EQ(lines_of(wanted), std::vector<std::string>{"/usr/bin/python3 -m venv /e"});
  wanted.packages = {"torch==2.6", "a b"};
  wanted.requirement_files = {"/r.txt"};
  wanted.system_site_packages = true;
  wanted.upgrade_pip = true;
  EXPECT_EQ(lines_of(wanted),
            (std::vector<std::string>{"/usr/bin/python3 -m venv --system-site-packages /e",
                                      pip + "--no-cache-dir --upgrade pip setuptools wheel",
                                      pip + "--no-cache-dir -r /r.txt torch==2.6 a b"}));
  wanted.upgrade_pip = false;
  EXPECT_EQ(lines_of(wanted, {{"PIP_CACHE_DIR", "/scratch/pip"}}).back(),
            pip + "-r /r.txt torch==2.6 a b");
}

TEST(BuildEnvironment, KeepsProxiesAndPipsVariablesAndNoOtherEnvironment) {
  const Environment out = build_environment({{"https_proxy", "p"},
                                             {"NO_PROXY", "n"},
                                             {"PIP_INDEX_URL", "i"},
                                             {"VIRTUAL_ENV", "/other"},
                                             {"PIP_TARGET", "/other"},
                                             {"PYTHONHOME", "/other"}});
  EXPECT_EQ(join(out.entries(), " "), "NO_PROXY=n PIP_INDEX_URL=i https_proxy=p");
}

TEST(Imports, AreReadFromTheLastLine) {
  const auto imported = parse_imports(
      "noise {\n\n{\"python\": \"3.11.2\", \"versions\": {\"a\": \"1\"}, \"failures\": {\"b\": "
      "\"ImportError: x\\ny\"}}\n");
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->python, "3.11.2");
  EXPECT_EQ(imported->versions.at("a"), "1");
  EXPECT_EQ(imported->failures.at("b"), "ImportError: x\\ny");
  for (const char* none : {"", "noise", "{}", "[1]", "{\"python\": 3}"}) {
    EXPECT_FALSE(parse_imports(none)) << none;
  }
}

}  // namespace
}  // namespace toprun::setup
