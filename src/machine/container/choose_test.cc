#include <gtest/gtest.h>

#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

std::string chosen(Request request, std::string_view program, bool pyxis = false) {
  const auto is_executable = [&](const std::string& path) {
    return !program.empty() && path == fmt::format("/opt/bin/{}", program);
  };
  const auto runtime = choose(request, {{"PATH", "/usr/bin::/opt/bin"}}, is_executable, pyxis);
  return runtime ? std::string((*runtime)->name()) : "error: " + runtime.error().line();
}

TEST(Choose, ByImageAndPath) {
  EXPECT_EQ(chosen({.image = "docker://python:3.12"}, "podman"), "podman");
  EXPECT_EQ(chosen({.image = "docker://python:3.12", .runtime = "podman"}, "podman"), "podman");
  EXPECT_EQ(chosen({.image = "docker://python:3.12"}, "podman", true), "pyxis");
  EXPECT_EQ(chosen({.image = "a.sqsh"}, "enroot"), "enroot");
  EXPECT_EQ(chosen({.image = "a.sif"}, "singularity", true), "singularity");
  EXPECT_EQ(chosen({.image = "./folder"}, "apptainer", true), "apptainer");
}

TEST(Choose, Errors) {
  EXPECT_EQ(
      chosen({.image = "docker://python:3.12", .runtime = "podman"}, ""),
      "error: --container-runtime podman: there is no podman in PATH; "
      "install podman, or load podman with --modules podman if the site has podman as a module");
  EXPECT_EQ(chosen({.image = "a.sif"}, "podman"),
            "error: no container runtime for image a.sif: none of apptainer, singularity is in "
            "PATH; install a container runtime, or load one with --modules apptainer if the site "
            "has Apptainer as a module");
  EXPECT_TRUE(chosen({.image = "a.sqsh", .runtime = "pyxis"}, "podman")
                  .starts_with("error: --container-runtime pyxis: this Slurm's srun does not"));
  EXPECT_TRUE(
      chosen({.image = "python", .runtime = "podmen"}, "podman").ends_with("did you mean podman?"));
  EXPECT_TRUE(chosen({.image = "a.sif", .runtime = "podman"}, "podman")
                  .contains("podman cannot run a SIF file"));
}

}  // namespace
}  // namespace toprun::container
