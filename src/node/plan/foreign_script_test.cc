#include <gtest/gtest.h>

#include "node/plan/program.h"

namespace toprun::plan {
namespace {

TEST(ForeignScript, WhatPythonMayRun) {
  const std::pair<const char*, const char*> rows[] = {
      {"train.py", "#!/bin/bash\n"},  // its name says more
      {"train", ""},
      {"train", "import torch\n"},
      {"train", "#!/usr/bin/env python3\n"},
      {"train", "#!/opt/env/bin/python3.11 -u\n"},
      {"train", "#!/usr/bin/env -S PYTHONPATH=x pypy3 -u\n"},
      {"torchrun", "#!/bin/sh\n'''exec' \"/a/very/long/path/python3\" \"$0\" \"$@\"\n' '''\n"},
      {"train", "#!\n"},
      {"train", "#!/usr/bin/env\n"},
      {"archive", "PK\x03\x04"},
  };
  for (const auto& [script, text] : rows) {
    const auto error = not_for_python(script, text);
    EXPECT_FALSE(error) << script << ": " << text << error->line();
  }
}

TEST(ForeignScript, WhatItMayNot) {
  struct Row {
    const char* script;
    std::string text;
    const char* line;
  };
  const Row rows[] = {
      {"run.sh", "#!/bin/bash\npython train.py\n",
       "script run.sh: is a script for bash, not for Python; to start the script as it is, write "
       "--no-python ./run.sh"},
      {"jobs/run", "#! /usr/bin/env zsh\n",
       "script jobs/run: is a script for zsh, not for Python; to start the script as it is, write "
       "--no-python jobs/run"},
      {"run.sh", "python train.py\n",
       "script run.sh: has the name of a shell script, and Python cannot run it; to start the "
       "script as it is, write --no-python ./run.sh"},
      {"job.sbatch",
       "#!/bin/bash\n#SBATCH --nodes=2\n# a comment\n#SBATCH -t 10:00 --gpus-per-node=8 # all\n\n"
       "srun true\n#SBATCH --mem=1\n",
       "script job.sbatch: is a script for bash, not for Python; to start the script as it is, "
       "write --no-python ./job.sbatch; to submit the script as a separate job, run `sbatch "
       "job.sbatch`; to submit a Python script with the same options, run `toprun submit --nodes=2 "
       "-t 10:00 --gpus-per-node=8 SCRIPT`"},
      {"/usr/bin/python3",
       "\x7f"
       "ELF\x02\x01",
       "script /usr/bin/python3: is a program, and Python can run only a script; leave "
       "/usr/bin/python3 out: toprun starts Python for each rank"},
      {"all_reduce_perf",
       "\x7f"
       "ELF\x02\x01",
       "script all_reduce_perf: is a program, and Python can run only a script; write --no-python "
       "./all_reduce_perf"},
  };
  for (const auto& row : rows) {
    const auto error = not_for_python(row.script, row.text);
    ASSERT_TRUE(error) << row.script;
    EXPECT_EQ(error->line(), row.line);
    EXPECT_EQ((*error)->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::plan
