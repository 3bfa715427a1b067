#include "node/plan/accelerate.h"

#include <gtest/gtest.h>

namespace toprun::plan {
namespace {

TEST(Accelerate, WhereItsLauncherLooks) {
  EXPECT_EQ(accelerate_default_config({{"HOME", "/home/ada"}}),
            "/home/ada/.cache/huggingface/accelerate/default_config.yaml");
  EXPECT_EQ(accelerate_default_config({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "/scratch"}}),
            "/scratch/huggingface/accelerate/default_config.yaml");
  EXPECT_EQ(accelerate_default_config({{"HOME", "/home/ada"}, {"HF_HOME", "~/hf"}}),
            "/home/ada/hf/accelerate/default_config.yaml");
  EXPECT_EQ(accelerate_default_config({{"HF_HOME", "/hf"}, {"XDG_CACHE_HOME", "/scratch"}}),
            "/hf/accelerate/default_config.yaml");
}

TEST(Accelerate, ImportsInAScript) {
  for (const char* line :
       {"import accelerate", "from accelerate import Accelerator", "  import accelerate.utils as u",
        "import os\nfrom accelerate.utils import set_seed\n", "import accelerate, torch"}) {
    EXPECT_TRUE(imports_accelerate(line)) << line;
  }
  for (const char* line : {"", "import torch", "# import accelerate", "import accelerated",
                           "from .accelerate import x", "print('import accelerate')", "import"}) {
    EXPECT_FALSE(imports_accelerate(line)) << line;
  }
}

TEST(Accelerate, SettingsThatAreThere) {
  EXPECT_TRUE(has_accelerate_settings({{"ACCELERATE_MIXED_PRECISION", "no"}}));
  EXPECT_FALSE(has_accelerate_settings({{"ACCELERATE_LOG_LEVEL", "info"}}));
}

TEST(Accelerate, AFileThatIsNotThere) {
  const auto settings = accelerate_settings("/no/such.yaml", "/no/python", {}, {}, "n1");
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().line(),
            "--accelerate-config /no/such.yaml on host n1: there is no such file; create the file "
            "with `accelerate config --config_file FILE`");
  EXPECT_EQ(settings.error()->exit_code, exit_usage);
}

}  // namespace
}  // namespace toprun::plan
