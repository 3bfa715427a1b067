#include "machine/container/environment.h"

#include <gtest/gtest.h>

namespace toprun::container {
namespace {

TEST(ContainerEnvironment, WhatPasses) {
  for (const char* name :
       {"NCCL_DEBUG", "GLOO_SOCKET_IFNAME", "SLURM_JOB_ID", "http_proxy", "HTTPS_PROXY",
        "CUDA_VISIBLE_DEVICES", "USER", "HOME", "TERM", "HF_HOME", "PYTHONPATH", "MY_SETTING",
        "OMP_NUM_THREADS", "TZ", "WANDB_API_KEY", "COMPILER", "PATHS", "XDG_CACHE_HOME"}) {
    EXPECT_TRUE(passes(name)) << name;
  }
  for (const char* name : {"PATH",
                           "LD_LIBRARY_PATH",
                           "LD_PRELOAD",
                           "PYTHON_EXEC",
                           "PYTHONHOME",
                           "VIRTUAL_ENV",
                           "CONDA_PREFIX",
                           "MODULEPATH",
                           "MODULESHOME",
                           "LOADEDMODULES",
                           "_LMFILES_",
                           "BASH_FUNC_module%%",
                           "SHELL",
                           "PWD",
                           "OLDPWD",
                           "_",
                           "XDG_RUNTIME_DIR",
                           "SSH_AUTH_SOCK",
                           "DISPLAY",
                           "LANG",
                           "LC_ALL",
                           "TMPDIR",
                           "CC",
                           "CUDA_HOME",
                           "APPTAINER_BIND",
                           "SINGULARITYENV_X",
                           "CONTAINERS_CONF"}) {
    EXPECT_FALSE(passes(name)) << name;
  }
}

TEST(ContainerEnvironment, WhoseValueCounts) {
  const Environment image{{"PATH", "/opt/bin"}, {"NCCL_DEBUG", "WARN"}, {"HOME", "/root"}};
  const Environment host{{"PATH", "/usr/bin"},   {"NCCL_DEBUG", "INFO"}, {"HOME", "/home/ada"},
                         {"SLURM_JOB_ID", "17"}, {"LANG", "de_DE"},      {"LC_ALL", "C.UTF-8"}};
  Request request;
  EXPECT_EQ(
      inside(image, host, request).variables(),
      (Environment{
           {"PATH", "/opt/bin"}, {"NCCL_DEBUG", "WARN"}, {"HOME", "/root"}, {"SLURM_JOB_ID", "17"}})
          .variables());
  request.host_wins = {"NCCL_*", "LANG", "NOT_SET", "PATH"};
  request.variables = {{"SLURM_JOB_ID", "18"}};
  EXPECT_EQ(inside(image, host, request).variables(), (Environment{{"PATH", "/usr/bin:/opt/bin"},
                                                                   {"NCCL_DEBUG", "INFO"},
                                                                   {"HOME", "/root"},
                                                                   {"LANG", "de_DE"},
                                                                   {"SLURM_JOB_ID", "18"}})
                                                          .variables());
}

}  // namespace
}  // namespace toprun::container
