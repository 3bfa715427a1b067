#include "node/plan/setup/build.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::setup {
namespace {

std::vector<std::string> lines_of(const VenvRequest& requested,
                                  const Environment& environment = {}) {
  std::vector<std::string> lines;
  for (const Step& step : steps(requested, environment)) lines.push_back(join(step.argv, " "));
  return lines;
}

TEST(Steps, MakeAVenvAndInstallAtOnce) {
  const std::string pip = "/e/bin/python -m pip install --no-input --disable-pip-version-check ";
  VenvRequest requested{.venv = "/e", .python = "/usr/bin/python3"};
  EXPECT_EQ(lines_of(requested), std::vector<std::string>{"/usr/bin/python3 -m venv /e"});
  requested.packages = {"torch==2.6", "a b"};
  requested.requirement_files = {"/r.txt"};
  requested.system_site_packages = true;
  requested.upgrade_pip = true;
  EXPECT_EQ(lines_of(requested),
            (std::vector<std::string>{"/usr/bin/python3 -m venv --system-site-packages /e",
                                      pip + "--no-cache-dir --upgrade pip setuptools wheel",
                                      pip + "--no-cache-dir -r /r.txt torch==2.6 a b"}));
  requested.upgrade_pip = false;
  EXPECT_EQ(lines_of(requested, {{"PIP_CACHE_DIR", "/scratch/pip"}}).back(),
            pip + "-r /r.txt torch==2.6 a b");
}

TEST(Steps, HorovodComesAfterTheTorchThatItIsFor) {
  struct Case {
    Horovod kind;
    std::string variables;
  };
  const std::string always =
      "HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 ";
  const Case cases[] = {
      {Horovod::nccl,
       always + "HOROVOD_WITH_GLOO=1 HOROVOD_GPU_OPERATIONS=NCCL HOROVOD_NCCL_HOME=/nccl"},
      {Horovod::gloo, always + "HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_NCCL_HOME=/nccl"},
      {Horovod::mpi, always + "HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_NCCL_HOME=/nccl"},
  };
  VenvRequest requested{.venv = "/e", .python = "p"};
  requested.packages = {"torch==2.6", "Horovod[pytorch]==0.28.1", "horovod-extras"};
  requested.nccl_home = "/nccl";
  const std::string pip =
      "/e/bin/python -m pip install --no-input --disable-pip-version-check --no-cache-dir ";
  for (const Case& each : cases) {
    requested.horovod = each.kind;
    EXPECT_EQ(lines_of(requested),
              (std::vector<std::string>{"p -m venv /e",
                                        pip + "torch==2.6 horovod-extras setuptools wheel",
                                        "/e/bin/python -c import torch",
                                        pip + "--no-build-isolation Horovod[pytorch]==0.28.1"}));
    std::vector<std::string> variables;
    const std::vector<Step> all = steps(requested, {});
    for (const auto& [name, value] : all.back().variables) {
      variables.push_back(name + "=" + value);
    }
    EXPECT_EQ(join(variables, " "), each.variables);
  }
  EXPECT_EQ(import_command(requested).back(), "horovod.torch");
  const auto own = steps(requested, {{"HOROVOD_WITH_MPI", "0"}}).back().variables;
  EXPECT_EQ(std::ranges::count(own, "HOROVOD_WITH_MPI", [](const auto& v) { return v.first; }), 0);
}

TEST(Packages, AreShownWithoutLogins) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"torch==2.6", "torch==2.6"},
      {"demo @ https://host/demo.whl", "demo @ https://host/demo.whl"},
      {"git+https://host/repository@v1.0", "git+https://host/repository@v1.0"},
      {"git+https://ada:token@host/repository@v1", "git+https://<secret>@host/repository@v1"},
      {"https://a@b@host", "https://<secret>@host"},
      {"://", "://"},
  };
  for (const auto& [word, shown] : cases) EXPECT_EQ(without_login(word), shown);
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
