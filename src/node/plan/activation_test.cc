#include "node/plan/activation.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;

class Activating : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text, bool executable = false) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
    if (executable) fs::permissions(folder_ / path, fs::perms::owner_all);
  }
  std::string at(const fs::path& path) const { return (folder_ / path).string(); }

  Environment environment() const {
    return {{"PATH", "/usr/bin:/bin"}, {"HOME", at("home")}, {"PYTHONHOME", "/old"}, {"A", "a"}};
  }
  std::string error_of(const Activation& requested) const {
    const auto activated = activate(requested, environment(), "n0");
    return activated ? "no error" : activated.error().line();
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(Activating, AVirtualEnvironmentGivesItsPython) {
  write("env/bin/python", "", true);
  const auto activated = activate({.venv = at("env/")}, environment(), "n0");
  ASSERT_TRUE(activated) << activated.error().line();
  EXPECT_EQ(activated->python, at("env/bin/python"));
  EXPECT_EQ(activated->environment.get("PATH"), at("env/bin") + ":/usr/bin:/bin");
  EXPECT_FALSE(activated->environment.has("PYTHONHOME"));
}

TEST_F(Activating, AMissingVirtualEnvironmentIsNamedWithTheNearest) {
  write("torch-env/pyvenv.cfg", "");
  EXPECT_EQ(error_of({.venv = at("torchenv")}),
            fmt::format("--venv {0} on host n0: there is no {0}/bin/python; did you mean {1}?",
                        at("torchenv"), at("torch-env")));
}

TEST_F(Activating, ACondaEnvironmentIsFoundByNameAndItsScriptsAreSourced) {
  write("home/miniforge3/envs/train/conda-meta/history", "");
  write("home/miniforge3/envs/train/bin/python", "", true);
  write("home/miniforge3/envs/train/etc/conda/activate.d/cuda.sh",
        "echo noise\nexport CUDA_HOME=$CONDA_PREFIX/cuda\n");
  const auto activated = activate({.conda = "train"}, environment(), "n0");
  ASSERT_TRUE(activated) << activated.error().line();
  const std::string prefix = at("home/miniforge3/envs/train");
  EXPECT_EQ(activated->python, prefix + "/bin/python");
  EXPECT_EQ(activated->environment.get("CONDA_PREFIX"), prefix);
  EXPECT_EQ(activated->environment.get("CONDA_DEFAULT_ENV"), "train");
  EXPECT_EQ(activated->environment.get("CUDA_HOME"), prefix + "/cuda");
  EXPECT_FALSE(activated->environment.has("SHLVL"));
  const std::string error = error_of({.conda = "trai"});
  EXPECT_TRUE(
      error.starts_with("--conda trai on host n0: there is no conda environment of that name in "));
  EXPECT_TRUE(error.ends_with("; did you mean train?")) << error;
}

TEST_F(Activating, VariablesComeLastAndMayTakeTheirValueFromHere) {
  const auto activated = activate(
      {.variables = {{"A", std::nullopt}, {"B", "x=y"}, {"C", std::nullopt}, {"HOME", ""}}},
      environment(), "n0");
  ASSERT_TRUE(activated);
  EXPECT_EQ(activated->environment.get("A"), "a");
  EXPECT_EQ(activated->environment.get("B"), "x=y");
  EXPECT_FALSE(activated->environment.has("C"));
  EXPECT_EQ(activated->environment.get("HOME"), "");
}

// A module command that is defined as by both module systems.
constexpr std::string_view module_command = R"(
module() {
  case "$1 $2" in
    "purge ") unset LOADEDMODULES OLD ;;
    "load cuda/12."?)
      export LOADEDMODULES="${LOADEDMODULES:+$LOADEDMODULES:}$2" CUDA_HOME=/opt/cuda
      echo "Loading $2" ;;
    "-t avail") printf '/opt/modules:\ncuda/12.4(default)\ncuda/\nnccl/2.20\n' ;;
    *) echo "ERROR: Unable to locate a modulefile for '$2'" >&2; return 1 ;;
  esac
}
)";

TEST_F(Activating, ACommandIsRunAndItsEnvironmentTakenOver) {
  write("site.sh", "echo noise\nexport SITE=\"$1 here\" A=changed\nPATH=/site/bin:$PATH\n");
  write("env/bin/python", "", true);
  const auto activated = activate(
      {.before = "source " + at("site.sh"), .venv = at("env"), .variables = {{"A", "last"}}},
      environment(), "n0");
  ASSERT_TRUE(activated) << activated.error().line();
  EXPECT_EQ(activated->environment.get("SITE"), " here");
  EXPECT_EQ(activated->environment.get("A"), "last");
  EXPECT_EQ(activated->environment.get("PATH"), at("env/bin") + ":/site/bin:/usr/bin:/bin");
  EXPECT_FALSE(activated->environment.has("SHLVL"));
}

TEST_F(Activating, ACommandThatFailsIsShownWithItsWords) {
  EXPECT_EQ(
      error_of({.before = "echo 'error: no licence' >&2; exit 3"}),
      "--before echo 'error: no licence' >&2; exit 3 on host n0: the command ended with code 3: "
      "error: no licence; add \"|| true\" to commands that may fail");
  EXPECT_TRUE(
      error_of({.before = "source /no/such"}).contains("/no/such: No such file or directory"));
  EXPECT_EQ(error_of({.before = "false || true"}), "no error");
}

TEST_F(Activating, ModulesAreLoadedAfterAPurge) {
  write("modules/init/bash", std::string(module_command));
  Environment before = environment();
  before.set("MODULESHOME", at("modules"));
  before.set("OLD", "1");
  const auto activated = activate({.modules = {"cuda/12.4"}}, before, "n0");
  ASSERT_TRUE(activated) << activated.error().line();
  EXPECT_EQ(activated->environment.get("CUDA_HOME"), "/opt/cuda");
  EXPECT_FALSE(activated->environment.has("OLD"));

  const auto missing = activate({.modules = {"cuda/12.4", "nccl/2.2"}}, before, "n0");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().line(),
            "--modules cuda/12.4,nccl/2.2 on host n0: ERROR: Unable to locate a modulefile for "
            "'nccl/2.2'; did you mean nccl/2.20?");
}

TEST_F(Activating, WhatSetupHasBuiltBringsItsModules) {
  write("modules/init/bash", std::string(module_command));
  write("env/bin/python", "", true);
  utsname system{};
  ::uname(&system);
  const std::string record = R"({"schema": "toprun.setup/1", "state": "complete", "host": "n7",
                                 "modules": ["cuda/12.4"], "architecture": ")";
  write("env/toprun-setup.json", record + system.machine + "\"}");
  Environment before = environment();
  before.set("MODULESHOME", at("modules"));
  const auto unasked = activate({.venv = at("env")}, before, "n0");
  ASSERT_TRUE(unasked) << unasked.error().line();
  EXPECT_EQ(unasked->environment.get("LOADEDMODULES"), "cuda/12.4");
  EXPECT_EQ(unasked->note, "modules cuda/12.4, because --venv was built with them");
  const auto loaded_already = activate({.venv = at("env")}, unasked->environment, "n0");
  ASSERT_TRUE(loaded_already);
  EXPECT_EQ(loaded_already->note, "");
  EXPECT_TRUE(activate({.modules = {"cuda/12.4"}, .venv = at("env")}, before, "n0"));
  const auto other = activate({.modules = {"cuda/12.2"}, .venv = at("env")}, before, "n0");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().line(), fmt::format("--venv {} on host n0: the environment was built "
                                              "with other modules; the modules now are cuda/12.2 "
                                              "instead of cuda/12.4; leave out --modules, or build "
                                              "the environment again with these modules",
                                              at("env")));
  EXPECT_EQ(other.error()->exit_code, exit_usage);
  before.unset("MODULESHOME");

  write("env/toprun-setup.json", record + "pdp11\"}");
  const auto machine = activate({.venv = at("env")}, before, "n0");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error()->why,
            fmt::format("the environment was built for pdp11 (on n7), but this node is {}",
                        system.machine));
  write("env/toprun-setup.json", "{");
  EXPECT_TRUE(
      error_of({.venv = at("env")}).starts_with(at("env/toprun-setup.json") + ": is not a "));
  write("env/toprun-setup.json", R"({"schema": "toprun.setup/1", "state": "building"})");
  EXPECT_TRUE(
      error_of({.venv = at("env")})
          .starts_with("--venv " + at("env") + " on host n0: the environment is incomplete: "));
}

TEST(ParseEnvironment, TakesWhatEnvPrints) {
  using namespace std::string_view_literals;
  const auto environment = parse_environment("A=1\0B=x=y\nz\0C=\0"sv);
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->variables().size(), 3u);
  EXPECT_EQ(environment->get("B"), "x=y\nz");
  EXPECT_FALSE(parse_environment("no variable\0"sv));
}

TEST(AvailableModules, AreNamesWithoutHeadingsAndMarks) {
  EXPECT_EQ(join(parse_available_modules("/usr/share/modules/modulefiles:\ndot\ncuda/\n"
                                         "cuda/12.4(default)\n\n-------- /opt --------\nnccl/2\n"),
                 " "),
            "dot cuda/12.4 nccl/2");
}

}  // namespace
}  // namespace toprun::plan
